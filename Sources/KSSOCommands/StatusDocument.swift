internal import Foundation
internal import Kerberos
internal import KerberosSSO

/// What `ksso status --json` prints. Keys are only ever added; what is absent is null.
struct StatusDocument: Encodable {
    let agent = false
    let cacheMode = "system"
    let sessions: [Item]

    init(_ list: SessionList) { sessions = list.sessions.map(Item.init) }

    struct Item: Encodable {
        let session: Session

        enum Key: String, CodingKey {
            case realm, principal, isDefault, signedIn, acquiredBy, cache, ticketExpires, renewUntil, passwordExpires, services
        }

        func encode(to encoder: any Encoder) throws {
            var container = encoder.container(keyedBy: Key.self)
            try container.encode(session.realm, forKey: .realm)
            try container.encode(session.principal.description, forKey: .principal)
            try container.encode(session.isDefault, forKey: .isDefault)
            try container.encode(session.isSignedIn, forKey: .signedIn)
            try container.encode(session.acquiredBy.name, forKey: .acquiredBy)
            try container.encode(session.cache.rawValue, forKey: .cache)
            try container.encode(session.ticketExpires, forKey: .ticketExpires)
            try container.encode(session.renewUntil, forKey: .renewUntil)
            try container.encodeNil(forKey: .passwordExpires)
            try container.encode(session.services.map(Service.init), forKey: .services)
        }
    }

    struct Service: Encodable {
        let service: String
        let expires: Date

        init(_ service: Session.Service) {
            self.service = service.principal.description
            expires = service.expires
        }
    }
}

extension Session.Acquisition {
    fileprivate var name: String {
        switch self {
        case .password: "password"
        case .keytab: "keytab"
        case .other: "other"
        }
    }
}
