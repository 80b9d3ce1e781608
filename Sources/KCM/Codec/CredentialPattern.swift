/// What RETRIEVE and REMOVE_CRED look for: flags, and a credential of which only the fields that its header names are there.
package struct CredentialPattern: Sendable {
    package let match: MatchFlags
    package let client: MarshalledPrincipal?
    package let server: MarshalledPrincipal?
    package let encryptionType: Int16
    package let times: TicketTimes
    package let isSessionKey: Bool
    package let ticketFlags: UInt32
    /// The list with its count; a list of none where the header does not name it.
    package let authorizationData: ArraySlice<UInt8>
    package let secondTicket: ArraySlice<UInt8>

    /// The bits of the header, in the order in which the fields come.
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

    /// Reads the flags and the marshalled pattern; what follows it is no matter.
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
        times = try TicketTimes(from: &reader)
        isSessionKey = try reader.number("session key", as: UInt8.self) != 0
        ticketFlags = try reader.number("ticket flags")
        if header.contains(.addresses) { _ = try reader.typedList("addresses") }
        authorizationData = header.contains(.authorizationData) ? try reader.typedList("authorization data") : [0, 0, 0, 0]
        if header.contains(.ticket) { _ = try reader.countedBytes("ticket") }
        secondTicket = header.contains(.secondTicket) ? try reader.countedBytes("second ticket") : []
    }
}
