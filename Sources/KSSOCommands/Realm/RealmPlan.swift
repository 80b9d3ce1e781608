internal import Foundation
internal import KerberosTesting

/// What `ksso realm run` starts.
struct RealmPlan: Sendable {
    var realms: [TestRealmOptions]
    /// What is wrong with a realm's network from the start on, by the realm's name.
    var faults: [String: NetworkFault] = [:]
    var trusts: [RealmTrust] = []
    var web: [WebServer] = []

    /// Gives the realms an address to listen at.
    mutating func listen(at address: String) {
        for index in realms.indices { realms[index].address = address }
    }

    /// Adds a server, and the service whose keys it has.
    mutating func add(_ server: WebServer) {
        web.append(server)
        let index = server.realm.flatMap { name in realms.firstIndex { $0.name == name } } ?? 0
        let service = "HTTP/\(server.host)"
        if !realms[index].services.contains(service) { realms[index].services.append(service) }
    }

    /// Throws where clients would not find a server by its name.
    func checkNames() throws(KerberosTestingError) {
        for server in web {
            let realm = realms.first { $0.name == server.realm } ?? realms[0]
            try ListeningAddress.checkName(server.host, of: realm.address)
        }
    }

    /// A web server whose page /hello wants a ticket.
    struct WebServer: Sendable {
        /// The name of 127.0.0.1.
        static let localHost = "localhost"

        enum Kind: String, CaseIterable {
            case apache, acceptor
        }

        var kind = Kind.apache
        /// The realm whose keys it has; nil is the first one.
        var realm: String?
        var host = Self.localHost
        var usesTLS = false
        var isConnectionBound = false
    }
}
