/// The search pattern of RETRIEVE and REMOVE_CRED: match flags, and a credential that contains only the fields its header names.
package struct CredentialPattern: Sendable {
    package let match: MatchFlags
    package let client: MarshalledPrincipal?
    package let server: MarshalledPrincipal?
    package let encryptionType: Int16
    package let times: CredentialTimes
    package let isSessionKey: Bool
    package let ticketFlags: UInt32
    /// The encoded list with its count; an empty list if the header does not name the field.
    package let authorizationData: ArraySlice<UInt8>
    package let secondTicket: ArraySlice<UInt8>

    /// The bits of the header, in the order in which the fields are encoded.
    private struct Header: OptionSet {
        let rawValue: UInt32
        static let client = Header(rawValue: 0x01)
        static let server = Header(rawValue: 0x02)
        static let key = Header(rawValue: 0x04)
        static let addresses = Header(rawValue: 0x40)
        static let authorizationData = Header(rawValue: 0x20)
        static let ticket = Header(rawValue: 0x08)
        static let secondTicket = Header(rawValue: 0x10)
    }

    /// Reads the flags and the marshalled pattern; ignores any bytes that follow.
    package init(_ bytes: [UInt8]) throws(MalformedInput) {
        var reader = ByteReader(bytes)
        self = try CredentialPattern(from: &reader)
    }

    init(from reader: inout ByteReader) throws(MalformedInput) {
        match = MatchFlags(rawValue: try reader.number("match flags"))
        let header = Header(rawValue: try reader.number("header"))
        client = header.contains(.client) ? try MarshalledPrincipal(from: &reader) : nil
        server = header.contains(.server) ? try MarshalledPrincipal(from: &reader) : nil
        if header.contains(.key) {
            encryptionType = try reader.number("encryption type")
            _ = try reader.countedBytes("key")
        } else {
            encryptionType = 0
        }
        times = try CredentialTimes(from: &reader)
        isSessionKey = try reader.number("session key", as: UInt8.self) != 0
        ticketFlags = try reader.number("ticket flags")
        if header.contains(.addresses) { _ = try reader.typedList("addresses") }
        authorizationData = header.contains(.authorizationData) ? try reader.typedList("authorization data") : [0, 0, 0, 0]
        if header.contains(.ticket) { _ = try reader.countedBytes("ticket") }
        secondTicket = header.contains(.secondTicket) ? try reader.countedBytes("second ticket") : []
    }
}

/// The fields that RETRIEVE and REMOVE_CRED compare. The bits are Heimdal's; libkrb5 sends them in place of its own.
package struct MatchFlags: OptionSet, Sendable {
    package let rawValue: UInt32

    package init(rawValue: UInt32) { self.rawValue = rawValue }

    /// The realms of the client and the server may differ.
    package static let ignoreRealms = MatchFlags(rawValue: 1 << 31)
    /// The key's encryption type must be equal.
    package static let keyType = MatchFlags(rawValue: 1 << 30)
    /// The realm of the server may differ.
    package static let serverNameOnly = MatchFlags(rawValue: 1 << 29)
    /// The ticket flags must be equal.
    package static let exactFlags = MatchFlags(rawValue: 1 << 28)
    /// The ticket must have at least these flags.
    package static let flags = MatchFlags(rawValue: 1 << 27)
    /// The four times must be equal.
    package static let exactTimes = MatchFlags(rawValue: 1 << 26)
    /// The ticket's end and renew-till times must be no earlier; this flag keeps libkrb5 from using an expired ticket.
    package static let times = MatchFlags(rawValue: 1 << 25)
    /// The authorization data must be equal.
    package static let authorizationData = MatchFlags(rawValue: 1 << 24)
    /// The second ticket must be equal.
    package static let secondTicket = MatchFlags(rawValue: 1 << 23)
    /// The pattern states whether it means a ticket for user-to-user authentication; without this bit it does not.
    package static let isSessionKey = MatchFlags(rawValue: 1 << 22)
    /// `KRB5_GC_CACHED`: do not contact the KDC. This server never does.
    package static let cachedOnly = MatchFlags(rawValue: 1)
}

extension CredentialPattern {
    /// Whether the server realms must be equal.
    var comparesServerRealm: Bool { match.isDisjoint(with: [.ignoreRealms, .serverNameOnly]) }

    /// Whether a credential matches the pattern, by the rules of `krb5int_cc_creds_match_request`.
    package func matches(_ credential: MarshalledCredential) -> Bool {
        matchesPrincipals(credential) && matchesSessionKey(credential) && matchesFlags(credential) && matchesTimes(credential)
            && (!match.contains(.authorizationData) || authorizationData == credential.authorizationData)
            && (!match.contains(.secondTicket) || secondTicket == credential.secondTicket)
            && (!match.contains(.keyType) || encryptionType == credential.encryptionType)
    }

    private func matchesPrincipals(_ credential: MarshalledCredential) -> Bool {
        if let server {
            guard comparesServerRealm ? server.isSame(as: credential.server) : server.hasSameComponents(as: credential.server) else {
                return false
            }
        }
        guard let client else { return true }
        return match.contains(.ignoreRealms) ? client.hasSameComponents(as: credential.client) : client.isSame(as: credential.client)
    }

    /// Whether the credential is a user-to-user ticket exactly if the pattern asks for one.
    private func matchesSessionKey(_ credential: MarshalledCredential) -> Bool {
        credential.isSessionKey == (match.contains(.isSessionKey) && isSessionKey)
    }

    private func matchesFlags(_ credential: MarshalledCredential) -> Bool {
        (!match.contains(.exactFlags) || ticketFlags == credential.ticketFlags)
            && (!match.contains(.flags) || ticketFlags & credential.ticketFlags == ticketFlags)
    }

    /// Compares the times. A zero time in the pattern matches every end and renew-till time, except with `exactTimes`.
    private func matchesTimes(_ credential: MarshalledCredential) -> Bool {
        guard !match.isDisjoint(with: [.times, .exactTimes]) else { return true }
        let held = credential.times
        return (!match.contains(.exactTimes) || times == held)
            && (!match.contains(.times) || (times.renewTill <= held.renewTill && times.end <= held.end))
    }
}
