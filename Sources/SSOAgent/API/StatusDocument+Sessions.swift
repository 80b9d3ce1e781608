internal import Kerberos
package import KerberosEngine
package import SSOAgentClient

extension StatusDocument {
    /// What the engine has found.
    package init(_ list: SessionList) {
        self.init(sessions: list.sessions.map { Session($0) })
    }
}

extension StatusDocument.Session {
    /// One session of the engine.
    package init(_ session: KerberosEngine.Session) {
        self.init(
            realm: session.realm,
            principal: session.principal.description,
            isDefault: session.isDefault,
            signedIn: session.isSignedIn,
            acquiredBy: session.acquiredBy.name,
            cache: session.cache.rawValue,
            ticketExpires: session.ticketExpires,
            renewUntil: session.renewUntil,
            passwordExpires: session.passwordExpires,
            services: session.services.map { .init(service: $0.principal.description, expires: $0.expires) }
        )
    }
}

extension Session.Acquisition {
    fileprivate var name: String {
        switch self {
        case .password: "password"
        case .keytab: "keytab"
        case .certificate: "certificate"
        case .storedSecret: "storedSecret"
        case .other: "other"
        }
    }
}
