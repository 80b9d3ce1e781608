package import struct Foundation.Date

/// The name of a credential cache, type and residual: `FILE:/tmp/krb5cc_1000`, `KCM:1000`, `KEYRING:persistent:1000`, `MEMORY:x`.
public struct CredentialCacheName: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
    /// The whole name.
    public let rawValue: String

    /// A name as `KRB5CCNAME` would hold it; one with no type is a file.
    public init(rawValue: String) {
        self.rawValue = rawValue.utf8.contains(Self.colon) ? rawValue : "FILE:\(rawValue)"
    }

    /// The type, in upper case: `FILE`, `DIR`, `MEMORY`, `KCM`, `KEYRING`.
    public var type: String { Substring(rawValue.utf8.prefix { $0 != Self.colon }).uppercased() }

    /// What stands after the type.
    public var residual: String { String(Substring(rawValue.utf8.drop { $0 != Self.colon }.dropFirst())) }

    /// libkrb5 goes by bytes: to Swift a colon with some characters beside it is no colon.
    private static let colon = UInt8(ascii: ":")

    /// Whether the name is that of a collection, and not of one cache in it: with `KRB5CCNAME=KCM:1000:2` libkrb5 sees that cache alone.
    public var isCollection: Bool {
        switch type {
        case "KCM": residual.isEmpty
        case "DIR": residual.utf8.first != Self.colon
        case "KEYRING": residual.utf8.count { $0 == Self.colon } == 1
        case "MEMORY": true
        default: false
        }
    }

    /// The path of a cache that is one file: a FILE cache, or one cache of a DIR collection (`DIR::/path`).
    public var path: String? {
        switch type {
        case "FILE": residual
        case "DIR" where residual.utf8.first == Self.colon: String(Substring(residual.utf8.dropFirst()))
        default: nil
        }
    }

    /// The name for messages: other programs choose names too, so whatever a terminal would act on is escaped.
    public var description: String { rawValue.escapedForDisplay() }
}

/// What a credential cache holds.
public struct CredentialCacheContents: Sendable {
    /// The cache's full name.
    public let name: CredentialCacheName
    /// Whose cache it is.
    public let principal: Principal
    /// The tickets, in the cache's order, expired ones included.
    public let credentials: [Credential]
    /// Marks that programs leave in a cache beside the tickets (`krb5_cc_set_config`); those of ours begin with `ksso_`.
    public let marks: [String: String]
    /// What libkrb5 notes of single services, such as which pre-authentication a realm wants; kept when a cache is filled anew.
    package let notes: [Credential]
    /// By how many seconds the KDC's clock is ahead of this machine's, as the cache has it: the tickets' times are by that clock.
    package internal(set) var clockOffset: Double = 0

    /// The ticket-granting ticket of the principal's own realm.
    public var ticketGrantingTicket: Credential? {
        credentials.last { $0.client == principal && $0.server.isTicketGrantingService(of: principal.realm) }
    }
}

/// What is in a credential cache, without the service tickets themselves: a cache may hold thousands of them, with a key each.
package struct CredentialCacheListing: Sendable {
    /// The cache's full name.
    package let name: CredentialCacheName
    /// Whose cache it is.
    package let principal: Principal
    /// The ticket-granting ticket of the principal's own realm, the last one if there are several.
    package internal(set) var ticketGrantingTicket: Credential?
    /// The names and times of all tickets, in the cache's order, expired ones included.
    package internal(set) var tickets: [Ticket] = []
    /// Marks that programs leave in a cache beside the tickets (`krb5_cc_set_config`); those of ours begin with `ksso_`.
    package internal(set) var marks: [String: String] = [:]
    /// By how many seconds the KDC's clock is ahead of this machine's, as the cache has it: the tickets' times are by that clock.
    package internal(set) var clockOffset: Double = 0

    init(name: CredentialCacheName, principal: Principal) {
        self.name = name
        self.principal = principal
    }

    /// A ticket of the cache.
    package struct Ticket: Sendable {
        /// The service, by the name that the KDC gave.
        package let server: Principal
        /// Whether it is the cache's principal's, and not somebody else's whom a service stands in for (S4U2Self).
        package let isOwn: Bool
        /// Until when it holds, by the KDC's clock.
        package let expires: Date
    }
}
