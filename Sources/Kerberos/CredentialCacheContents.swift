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
