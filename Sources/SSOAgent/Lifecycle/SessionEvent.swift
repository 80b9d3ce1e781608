package import struct Foundation.Date

/// What happened to the ticket of one principal in one cache.
package struct SessionEvent: Sendable, Hashable {
    /// What happened.
    package enum Kind: String, Sendable {
        /// The principal signed in, with this project or with another program.
        case new
        /// The ticket was renewed, or acquired again without asking.
        case renewed
        /// The cache is gone, or holds no ticket-granting ticket of the principal any more.
        case destroyed
        /// The agent could not renew the ticket: sent once for each ticket, however often the agent tries.
        case failed
    }

    package let kind: Kind
    /// Whose ticket it is, realm included.
    package let principal: String
    package let realm: String
    /// The full name of the cache.
    package let cache: String
    /// When the ticket expires, by this machine's clock; for ``Kind/destroyed`` the last that was known.
    package let expires: Date
    /// Until when it can be renewed; nil when it can't.
    package let renewUntil: Date?
    /// Why it failed; nil for the other kinds.
    package let reason: RefreshOutcome?

    init(_ kind: Kind, _ session: SeenSession, reason: RefreshOutcome? = nil) {
        self.kind = kind
        principal = session.key.principal
        realm = session.realm
        cache = session.key.cache
        expires = session.ticket.expires
        renewUntil = session.ticket.renewUntil
        self.reason = reason
    }

    /// The event as a program's environment; it holds no secret. What does not apply is empty.
    package var variables: [String: String] {
        [
            "KSSO_EVENT": kind.rawValue,
            "KSSO_PRINCIPAL": principal,
            "KSSO_REALM": realm,
            "KSSO_CACHE": cache,
            "KSSO_EXPIRES": expires.formatted(.iso8601),
            "KSSO_RENEW_UNTIL": renewUntil?.formatted(.iso8601) ?? "",
            "KSSO_REASON": reason?.rawValue ?? "",
            // For klist and others that the program may run.
            "KRB5CCNAME": cache,
        ]
    }
}
