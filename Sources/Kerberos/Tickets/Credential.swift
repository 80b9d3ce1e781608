internal import CKerberos

public import struct Foundation.Date

/// A ticket with its session key, outside a cache. Store it in a cache with ``KerberosClient``.
public struct Credential: Sendable {
    /// The client of the ticket.
    public let client: Principal
    /// The service of the ticket, under the name that the KDC returned.
    public let server: Principal
    /// When the ticket is valid.
    public let times: TicketTimes
    /// Whether the ticket can be renewed: the `renewable` flag.
    public let isRenewable: Bool
    /// Whether the KDC issues forwarded tickets from it, for use by a service: the `forwardable` flag.
    public let isForwardable: Bool
    /// Whether the KDC trusts the service for delegation, so that a client may forward its ticket to it: the `ok-as-delegate` flag (RFC
    /// 4120 section 2.8).
    public let isForTrustedService: Bool
    /// When the client's password expires, by the KDC's clock, according to the KDC's reply to a sign-in (RFC 4120 section 5.4.2). Nil if
    /// the reply did not contain it, if the password never expires, and for a ticket from a cache.
    public internal(set) var passwordExpires: Date?
    /// The size of the ticket in bytes. A token contains it as a whole; in a domain, it grows with the groups of the client.
    package let ticketSize: Int
    /// The whole credential, as in a FILE cache (`krb5_marshal_credentials`).
    let encoded: Secret

    /// A number that identifies the ticket within this process, even among those of the same second. It reveals nothing about the ticket.
    package var fingerprint: Int {
        encoded.withUnsafeBytes { bytes in
            var hasher = Hasher()
            hasher.combine(bytes: bytes)
            return hasher.finalize()
        }
    }

    /// Whether the ticket has not expired at the given time.
    public func isValid(at date: Date) -> Bool { times.expires > date }

    /// Whether it is the same ticket with the same key. Tickets of the same second differ in nothing else.
    package func isIdentical(to other: Credential) -> Bool {
        encoded.withUnsafeBytes { own in other.encoded.withUnsafeBytes { own.elementsEqual($0) } }
    }
}

extension Credential: CustomStringConvertible {
    /// Service, client and expiry time, never the key.
    public var description: String { "\(server) for \(client), until \(times.expires)" }
}

extension Credential {
    init(copying raw: inout krb5_creds, context: Context) throws(KerberosError) {
        client = try Principal(copying: raw.client, context: context)
        server = try Self.server(of: raw, context: context)
        times = TicketTimes(raw.times)
        ticketSize = Int(raw.ticket.length)
        isRenewable = raw.ticket_flags & krb5_flags(TKT_FLG_RENEWABLE) != 0
        isForwardable = raw.ticket_flags & krb5_flags(TKT_FLG_FORWARDABLE) != 0
        isForTrustedService = raw.ticket_flags & krb5_flags(TKT_FLG_OK_AS_DELEGATE) != 0
        var data: UnsafeMutablePointer<krb5_data>?
        try context.check(krb5_marshal_credentials(context.raw, &raw, &data), .readCache, subject: server.description)
        guard let data, let start = data.pointee.data else {
            throw KerberosError(.other, subject: server.description, message: "the ticket cannot be copied.")
        }
        let bytes = UnsafeMutableRawBufferPointer(start: start, count: Int(data.pointee.length))
        encoded = Secret(bytes: bytes)
        explicit_bzero(start, bytes.count)
        krb5_free_data(context.raw, data)
    }

    /// The service's full name. A referral ticket is stored under the requested name without a realm; the ticket itself contains the realm.
    static func server(of raw: krb5_creds, context: Context) throws(KerberosError) -> Principal {
        let asked = try Principal(copying: raw.server, context: context)
        guard asked.realm.isEmpty else { return asked }
        var encoded = raw.ticket
        var ticket: UnsafeMutablePointer<krb5_ticket>?
        guard krb5_decode_ticket(&encoded, &ticket) == 0, let ticket else { return asked }
        defer { krb5_free_ticket(context.raw, ticket) }
        return try Principal(copying: ticket.pointee.server, context: context)
    }

    /// Lends libkrb5's structure for the duration of the call.
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
        guard let raw else { throw KerberosError(.other, subject: server.description, message: "the ticket cannot be copied.") }
        defer { krb5_free_creds(context.raw, raw) }
        return try body(raw)
    }
}

/// When a ticket is valid (RFC 4120 section 5.3).
public struct TicketTimes: Sendable, Hashable {
    /// When the user or service authenticated to the KDC.
    public let authenticated: Date
    /// When the ticket becomes valid.
    public let starts: Date
    /// When the ticket expires.
    public let expires: Date
    /// Until when the ticket can be renewed; nil if it cannot.
    public let renewUntil: Date?

    init(_ raw: krb5_ticket_times) {
        authenticated = Self.date(raw.authtime)
        starts = Self.date(raw.starttime == 0 ? raw.authtime : raw.starttime)
        expires = Self.date(raw.endtime)
        renewUntil = raw.renew_till == 0 ? nil : Self.date(raw.renew_till)
    }

    /// libkrb5 uses unsigned 32-bit seconds, which last until 2106.
    private static func date(_ timestamp: krb5_timestamp) -> Date {
        Date(timeIntervalSince1970: Double(UInt32(bitPattern: timestamp)))
    }
}
