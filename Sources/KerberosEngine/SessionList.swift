public import Kerberos

/// The sessions of a user, and what stood in the way of reading others.
public struct SessionList: Sendable {
    /// The sessions, in the caches' order, the primary cache's first.
    public let sessions: [Session]
    /// Caches that are there and can't be read, each with the reason.
    public let damagedCaches: [KerberosError]
    /// Caches with tickets that hold, whoever acquired them, those without a ticket-granting ticket included.
    let occupiedCaches: [CredentialCacheName]

    /// The session of the primary cache, or of the one cache that there is: libkrb5's default credential. Nil where that is no session.
    package var primary: Session? { sessions.first.flatMap { $0.cache == primaryCache ? $0 : nil } }
    let primaryCache: CredentialCacheName?

    /// The sessions of a principal: by its own name, else by the one that was asked for at a sign-in.
    public func sessions(of name: Principal) -> [Session] {
        let own = sessions.filter { $0.principal == name }
        return own.isEmpty ? sessions.filter { $0.alias == name } : own
    }

    /// The session that answers for a realm: that of the named principal, else the one signed in or switched to last.
    public func session(realm: String, principal: Principal? = nil) -> Session? {
        if let principal { return sessions(of: principal).first }
        return sessions.first { $0.realm == realm && $0.isDefault }
    }
}
