package import struct Foundation.Date

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
