internal import CKerberos

public import struct Foundation.Date

/// A ticket with its session key, out of any cache. Store it in one with ``KerberosClient``.
public struct Credential: Sendable {
    /// Whose ticket it is.
    public let client: Principal
    /// For which service it is, by the name that the KDC gave.
    public let server: Principal
    /// When it holds.
    public let times: TicketTimes
    /// Whether it can be renewed: the `renewable` flag.
    public let isRenewable: Bool
    /// Whether the KDC gives out copies of it that can be passed on to a service: the `forwardable` flag.
    public let isForwardable: Bool
    /// Whether the KDC vouches for the service, so that a client may pass its own ticket on to it: the `ok-as-delegate` flag (RFC 4120
    /// section 2.8).
    public let isForTrustedService: Bool
    /// When the client's password expires by the KDC's clock, as the KDC said when this ticket was the answer to a sign-in (RFC 4120
    /// section 5.4.2). Nil where it did not say, where the password never expires, and for a ticket out of a cache.
    public internal(set) var passwordExpires: Date?
    /// The whole of it as the FILE cache writes it (`krb5_marshal_credentials`).
    let encoded: Secret

    /// A number that tells tickets apart as long as this process runs, those of the same second too. Nothing can be learned from it.
    package var fingerprint: Int {
        encoded.withUnsafeBytes { bytes in
            var hasher = Hasher()
            hasher.combine(bytes: bytes)
            return hasher.finalize()
        }
    }

    /// Whether it holds at a time.
    public func isValid(at date: Date) -> Bool { times.expires > date }

    /// Whether it is the same ticket with the same key; two of one second differ in nothing else.
    package func isIdentical(to other: Credential) -> Bool {
        encoded.withUnsafeBytes { own in other.encoded.withUnsafeBytes { own.elementsEqual($0) } }
    }
}

extension Credential: CustomStringConvertible {
    /// Names and expiry, never the key.
    public var description: String { "\(server) for \(client), until \(times.expires)" }
}

extension Credential {
    init(copying raw: inout krb5_creds, context: Context) throws(KerberosError) {
        client = try Principal(copying: raw.client, context: context)
        server = try Self.server(of: raw, context: context)
        times = TicketTimes(raw.times)
        isRenewable = raw.ticket_flags & krb5_flags(TKT_FLG_RENEWABLE) != 0
        isForwardable = raw.ticket_flags & krb5_flags(TKT_FLG_FORWARDABLE) != 0
        isForTrustedService = raw.ticket_flags & krb5_flags(TKT_FLG_OK_AS_DELEGATE) != 0
        var data: UnsafeMutablePointer<krb5_data>?
        try context.check(krb5_marshal_credentials(context.raw, &raw, &data), .readCache, subject: server.description)
        guard let data, let start = data.pointee.data else {
            throw KerberosError(.other, subject: server.description, message: "the ticket can't be copied.")
        }
        let bytes = UnsafeMutableRawBufferPointer(start: start, count: Int(data.pointee.length))
        encoded = Secret(bytes: bytes)
        explicit_bzero(start, bytes.count)
        krb5_free_data(context.raw, data)
    }

    /// A ticket that came by a referral is kept under the name that was asked for, with no realm; the ticket itself has the realm.
    static func server(of raw: krb5_creds, context: Context) throws(KerberosError) -> Principal {
        let asked = try Principal(copying: raw.server, context: context)
        guard asked.realm.isEmpty else { return asked }
        var encoded = raw.ticket
        var ticket: UnsafeMutablePointer<krb5_ticket>?
        guard krb5_decode_ticket(&encoded, &ticket) == 0, let ticket else { return asked }
        defer { krb5_free_ticket(context.raw, ticket) }
        return try Principal(copying: ticket.pointee.server, context: context)
    }

    /// Lends libkrb5's structure for the length of the call.
    func withRaw<Value>(
        in context: Context,
        _ body: (UnsafeMutablePointer<krb5_creds>) throws(KerberosError) -> Value
    ) throws(KerberosError) -> Value {
        var raw: UnsafeMutablePointer<krb5_creds>?
        let status = encoded.withUnsafeBytes { bytes in
            var data = krb5_data()
            data.length = UInt32(bytes.count)
            data.data = UnsafeMutablePointer(mutating: bytes.bindMemory(to: CChar.self).baseAddress)
            return krb5_unmarshal_credentials(context.raw, &data, &raw)
        }
        try context.check(status, .readCache, subject: server.description)
        guard let raw else { throw KerberosError(.other, subject: server.description, message: "the ticket can't be copied.") }
        defer { krb5_free_creds(context.raw, raw) }
        return try body(raw)
    }
}

/// When a ticket holds (RFC 4120 section 5.3).
public struct TicketTimes: Sendable, Hashable {
    /// When the person or the service proved itself to the KDC.
    public let authenticated: Date
    /// From when on the ticket holds.
    public let starts: Date
    /// Until when the ticket holds.
    public let expires: Date
    /// Until when it can be renewed; nil when it can't.
    public let renewUntil: Date?

    init(_ raw: krb5_ticket_times) {
        authenticated = Self.date(raw.authtime)
        starts = Self.date(raw.starttime == 0 ? raw.authtime : raw.starttime)
        expires = Self.date(raw.endtime)
        renewUntil = raw.renew_till == 0 ? nil : Self.date(raw.renew_till)
    }

    /// libkrb5 counts seconds in 32 bits without a sign, which lasts until 2106.
    private static func date(_ timestamp: krb5_timestamp) -> Date {
        Date(timeIntervalSince1970: Double(UInt32(bitPattern: timestamp)))
    }
}
