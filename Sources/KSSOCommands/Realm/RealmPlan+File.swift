internal import Foundation
internal import KerberosTesting
internal import Yams

extension RealmPlan {
    /// Reads a plan in YAML. Throws ``PlanFault``, which says where it can't be understood.
    init(yaml: String) throws(PlanFault) {
        let node: Node?
        do {
            node = try Yams.compose(yaml: yaml)
        } catch {
            throw PlanFault("", "this is no YAML: \(error)")
        }
        guard let node else { throw PlanFault("", "the file is empty.") }
        let plan = try PlanMapping(node, at: "", keys: ["realms", "trusts", "web", "listen"])
        realms = []
        for mapping in try plan.mappings("realms", keys: Self.realmKeys) {
            let options = try TestRealmOptions(mapping)
            guard !realms.contains(where: { $0.name == options.name }) else {
                throw PlanFault(mapping.path, "there are two realms \(options.name).")
            }
            realms.append(options)
            if let words = try mapping.text("fault") { faults[options.name] = try Self.fault(words, mapping.place("fault")) }
        }
        guard !realms.isEmpty else { throw PlanFault("", "realms is missing: a list of realms, each with a name.") }
        for words in try plan.texts("trusts") { trusts.append(try trust(words)) }
        for mapping in try plan.mappings("web", keys: ["server", "realm", "host", "tls", "connectionBound"]) {
            add(try server(mapping))
        }
        guard let address = try plan.text("listen") else { return }
        do throws(KerberosTestingError) { _ = try ListeningAddress(address) } catch { throw PlanFault("listen", error.message) }
        listen(at: address)
    }

    private static let realmKeys: Set<String> = [
        "name", "users", "principals", "policies", "services", "ticketLifetime", "renewableLifetime", "clockOffset", "kdcs",
        "passwordChanges", "certificates", "fast", "faults", "fault",
    ]

    private static func fault(_ words: String, _ place: String) throws(PlanFault) -> NetworkFault {
        guard let fault = NetworkFault(words: words) else { throw PlanFault(place, NetworkFault.forms) }
        return fault
    }

    private func trust(_ words: String) throws(PlanFault) -> RealmTrust {
        guard let trust = RealmTrust(words: words) else {
            throw PlanFault("trusts", "“\(words)” is no trust; write A.TEST -> B.TEST, or A.TEST <-> B.TEST for both ways.")
        }
        return trust
    }

    private func server(_ mapping: PlanMapping) throws(PlanFault) -> WebServer {
        var server = WebServer()
        if let name = try mapping.text("server") {
            guard let kind = WebServer.Kind(rawValue: name) else {
                throw PlanFault(mapping.place("server"), "there is no \(name); there are apache and acceptor.")
            }
            server.kind = kind
        }
        server.realm = try mapping.text("realm")
        if let realm = server.realm, !realms.contains(where: { $0.name == realm }) {
            throw PlanFault(mapping.place("realm"), "there is no realm \(realm) in this file.")
        }
        if let host = try mapping.text("host") { server.host = host }
        server.usesTLS = try mapping.flag("tls")
        server.isConnectionBound = try mapping.flag("connectionBound")
        return server
    }
}
