internal import SystemSupport

package import struct Foundation.Date

/// The name of a credential cache, type and residual: `FILE:/tmp/krb5cc_1000`, `KCM:1000`, `KEYRING:persistent:1000`, `MEMORY:x`.
public struct CredentialCacheName: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
    /// The full name, type included.
    public let rawValue: String

    /// Creates a name from a value in the form of `KRB5CCNAME`; a value without a type is a `FILE` path.
    public init(rawValue: String) {
        self.rawValue = rawValue.utf8.contains(Self.colon) ? rawValue : "FILE:\(rawValue)"
    }

    /// The type, in upper case: `FILE`, `DIR`, `MEMORY`, `KCM`, `KEYRING`.
    public var type: String { Substring(rawValue.utf8.prefix { $0 != Self.colon }).uppercased() }

    /// The part after the type.
    public var residual: String { String(Substring(rawValue.utf8.drop { $0 != Self.colon }.dropFirst())) }

    /// libkrb5 compares bytes. Swift does not find a colon that a combining character follows.
    private static let colon = UInt8(ascii: ":")

    /// Whether the name is that of a collection, not of one cache in it: with `KRB5CCNAME=KCM:1000:2` libkrb5 sees that cache alone.
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

    /// The directory of a DIR collection or of one of its caches.
    var folder: String? {
        guard type == "DIR" else { return nil }
        guard let path else { return residual }
        return path.lastIndex(of: "/").map { String(path[..<$0]) }
    }

    /// Whether another process may serve the cache: true for all types except FILE, DIR, KEYRING and MEMORY.
    var mayHaveServer: Bool { !["FILE", "DIR", "MEMORY", "KEYRING"].contains(type) }

    /// The name for messages. Control characters are escaped because other programs choose names too.
    public var description: String { rawValue.escapedForDisplay() }
}

/// The contents of a credential cache.
public struct CredentialCacheContents: Sendable {
    /// The cache's full name.
    public let name: CredentialCacheName
    /// The cache's default principal.
    public let principal: Principal
    /// The tickets in the cache's order, including expired ones.
    public package(set) var credentials: [Credential]
    /// Configuration entries that programs store in a cache (`krb5_cc_set_config`); this project's keys begin with `ksso_`.
    public package(set) var marks: [String: String]
    /// libkrb5's configuration entries for single services, such as a realm's pre-authentication type; kept when a cache is rewritten.
    package let notes: [Credential]
    /// How many seconds the KDC's clock is ahead of this machine's, as the cache records it; the tickets' times are in the KDC's time.
    package var clockOffset: Double = 0

    /// The ticket-granting ticket of the principal's own realm.
    public var ticketGrantingTicket: Credential? {
        credentials.last { $0.client == principal && $0.server.isTicketGrantingService(of: principal.realm) }
    }
}

/// The contents of a credential cache without the service tickets themselves: a cache may hold thousands, each with a key.
package struct CredentialCacheListing: Sendable {
    /// The cache's full name.
    package let name: CredentialCacheName
    /// The cache's default principal.
    package let principal: Principal
    /// The ticket-granting ticket of the principal's own realm, the last one if there are several.
    package internal(set) var ticketGrantingTicket: Credential?
    /// The names and times of all tickets in the cache's order, including expired ones.
    package internal(set) var tickets: [Ticket] = []
    /// Configuration entries that programs store in a cache (`krb5_cc_set_config`); this project's keys begin with `ksso_`.
    package internal(set) var marks: [String: String] = [:]
    /// How many seconds the KDC's clock is ahead of this machine's, as the cache records it; the tickets' times are in the KDC's time.
    package internal(set) var clockOffset: Double = 0

    init(name: CredentialCacheName, principal: Principal) {
        self.name = name
        self.principal = principal
    }

    /// A ticket in the cache.
    package struct Ticket: Sendable {
        /// The service, under the name that the KDC returned.
        package let server: Principal
        /// Whether the client is the cache's principal, not a user that a service impersonates (S4U2Self).
        package let isOwn: Bool
        /// When the ticket expires, by the KDC's clock.
        package let expires: Date
    }
}
