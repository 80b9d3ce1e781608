internal import CommandSupport
internal import Foundation
internal import KerberosTesting
internal import Yams

/// The realms and servers that `ksso realm run` starts.
struct RealmPlan: Sendable {
    var realms: [TestRealmOptions]
    /// The initial network faults, by the name of the realm.
    var faults: [String: NetworkFault] = [:]
    var trusts: [RealmTrust] = []
    var web: [WebServer] = []

    /// Sets the listen address of the realms.
    mutating func listen(at address: String) {
        for index in realms.indices { realms[index].address = address }
    }

    /// Adds a server and the service principal whose keys it uses.
    mutating func add(_ server: WebServer) {
        web.append(server)
        let index = server.realm.flatMap { name in realms.firstIndex { $0.name == name } } ?? 0
        let service = "HTTP/\(server.host)"
        if !realms[index].services.contains(service) { realms[index].services.append(service) }
    }

    /// Throws if clients would not find a server by its name.
    func checkNames() throws(KerberosTestingError) {
        for server in web {
            let realm = realms.first { $0.name == server.realm } ?? realms[0]
            try ListeningAddress.checkName(server.host, of: realm.address)
        }
    }

    /// Throws if two users would have the same variable for their certificates.
    func checkVariables() throws(KerberosTestingError) {
        var users: [String: String] = [:]
        for (index, realm) in realms.enumerated() where realm.acceptsCertificates {
            for user in realm.userNames {
                let suffix = RealmVariables.suffix(user: user, of: realm.name, isFirst: index == 0)
                let name = "\(user)@\(realm.name)"
                guard let other = users.updateValue(name, forKey: suffix) else { continue }
                throw KerberosTestingError(
                    .invalidArgument,
                    "\(other) and \(name) have the same variable KSSO_REALM_IDENTITY_\(suffix) for their certificates. Rename one of them."
                )
            }
        }
    }

    /// A web server whose page /hello requires a ticket.
    struct WebServer: Sendable {
        /// The host name for 127.0.0.1.
        static let localHost = "localhost"

        enum Kind: String, CaseIterable {
            case apache, acceptor
        }

        var kind = Kind.apache
        /// The name in the server's variables; nil means its number.
        var name: String?
        /// The realm whose keys the server uses; nil means the first one.
        var realm: String?
        var host = Self.localHost
        var usesTLS = false
        var isConnectionBound = false
    }
}

extension RealmPlan {
    /// Parses a plan in YAML. Throws ``PlanFault`` with the place of the error.
    init(yaml: String) throws(PlanFault) {
        let node: Node?
        do {
            node = try Yams.compose(yaml: yaml)
        } catch {
            throw PlanFault("", "the file is not valid YAML: \(error)")
        }
        guard let node else { throw PlanFault("", "the file is empty.") }
        let plan = try PlanMapping(node, at: "", keys: ["realms", "trusts", "web", "listen"])
        realms = []
        for mapping in try plan.mappings("realms", keys: Self.realmKeys) {
            let options = try TestRealmOptions(mapping)
            guard !realms.contains(where: { $0.name == options.name }) else {
                throw PlanFault(mapping.path, "the realm \(options.name) is defined twice.")
            }
            realms.append(options)
            if let words = try mapping.text("fault") { faults[options.name] = try Self.fault(words, mapping.place("fault")) }
        }
        guard !realms.isEmpty else { throw PlanFault("", "realms is missing: a list of realms, each with a name.") }
        for words in try plan.texts("trusts") { trusts.append(try trust(words)) }
        for mapping in try plan.mappings("web", keys: ["name", "server", "realm", "host", "tls", "connectionBound"]) {
            let server = try server(mapping)
            if let name = server.name.map(RealmVariables.suffix), web.contains(where: { $0.name.map(RealmVariables.suffix) == name }) {
                throw PlanFault(mapping.place("name"), "another server also has the variable KSSO_REALM_URL_\(name).")
            }
            add(server)
        }
        guard let address = try plan.text("listen") else { return }
        do throws(KerberosTestingError) { _ = try ListeningAddress(address) } catch { throw PlanFault("listen", error.message) }
        listen(at: address)
    }

    private static let realmKeys: Set<String> = [
        "name", "users", "principals", "policies", "services", "ticketLifetime", "renewableLifetime", "clockOffset", "kdcs",
        "passwordChanges", "certificates", "pluginDirectory", "fast", "faults", "fault",
    ]

    /// Whether a realm can have this name.
    static func isRealmName(_ name: String) -> Bool {
        !name.isEmpty && !hasControlCharacter(name) && !name.contains { $0.isWhitespace || "/@:".contains($0) }
    }

    /// Whether a text contains a character that kadmin would take for an editing key.
    static func hasControlCharacter(_ text: String) -> Bool { text.unicodeScalars.contains { $0.value < 0x20 || $0.value == 0x7F } }

    private static func fault(_ words: String, _ place: String) throws(PlanFault) -> NetworkFault {
        guard let fault = NetworkFault(words: words) else { throw PlanFault(place, NetworkFault.forms) }
        return fault
    }

    private func trust(_ words: String) throws(PlanFault) -> RealmTrust {
        guard let trust = RealmTrust(words: words) else {
            throw PlanFault("trusts", "“\(words)” is not a trust. Write A.TEST -> B.TEST, or A.TEST <-> B.TEST for both ways.")
        }
        if let fault = RealmTrust.fault(ofWords: words, among: realms.map(\.name)) { throw PlanFault("trusts", fault) }
        return trust
    }

    private func server(_ mapping: PlanMapping) throws(PlanFault) -> WebServer {
        var server = WebServer()
        if let name = try mapping.text("server") {
            guard let kind = WebServer.Kind(rawValue: name) else {
                throw PlanFault(mapping.place("server"), "unknown server \(name); the servers are apache and acceptor.")
            }
            server.kind = kind
        }
        server.name = try mapping.text("name")
        if let name = server.name, name.wholeMatch(of: /[A-Za-z][A-Za-z0-9_-]*/) == nil {
            throw PlanFault(mapping.place("name"), "a name begins with a letter and has letters, digits, - and _ only.")
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

extension TestRealmOptions {
    /// The principals that are persons, in order: those with a password, and those whose name has only one component.
    var userNames: [String] { names { $0.password != nil || !$0.name.contains("/") } }

    /// The principals that can sign in with a password, in order.
    var userNamesWithPassword: [String] { names { $0.password != nil } }

    private func names(ofUsers isUser: (TestPrincipal) -> Bool) -> [String] {
        Set(users.keys).union(principals.filter(isUser).map { String($0.name.prefix { $0 != "@" }) }).sorted()
    }

    /// Reads the options of one realm of a plan.
    init(_ mapping: PlanMapping) throws(PlanFault) {
        self.init(name: try mapping.needed("name"))
        guard RealmPlan.isRealmName(name) else { throw PlanFault(mapping.place("name"), "“\(name)” is not a realm name.") }
        if let node = mapping.node("users") {
            let passwords = try PlanMapping(node, at: mapping.place("users"), keys: [])
            for name in passwords.names {
                let password = try passwords.needed(name)
                if RealmPlan.hasControlCharacter(password) {
                    throw PlanFault(passwords.place(name), "the password contains a control character, which kadmin cannot read.")
                }
                users[name] = password
            }
        }
        for policy in try mapping.mappings("policies", keys: PasswordPolicy.planKeys) { policies.append(try PasswordPolicy(policy)) }
        for principal in try mapping.mappings("principals", keys: TestPrincipal.planKeys) {
            principals.append(try TestPrincipal(principal))
        }
        for service in try mapping.texts("services") {
            let parts = service.split(separator: "@", maxSplits: 1)
            guard parts.count < 2 || parts[1] == name else {
                throw PlanFault(mapping.place("services"), "\(service) is a service of another realm; list it there.")
            }
            guard !services.contains(String(parts.first ?? "")) else {
                throw PlanFault(mapping.place("services"), "\(service) is listed twice.")
            }
            services.append(String(parts.first ?? ""))
        }
        ticketLifetime = try mapping.duration("ticketLifetime")
        renewableLifetime = try mapping.duration("renewableLifetime")
        clockOffset = try mapping.offset("clockOffset")
        kdcCount = try mapping.number("kdcs") ?? 1
        acceptsPasswordChanges = try mapping.flag("passwordChanges")
        acceptsCertificates = try mapping.flag("certificates")
        pluginDirectory = try mapping.text("pluginDirectory")
        demandsFAST = try mapping.flag("fast")
        faultProxy = try mapping.flag("faults") || mapping.node("fault") != nil
    }
}

extension PasswordPolicy {
    fileprivate static let planKeys: Set<String> = [
        "name", "minimumLength", "minimumClasses", "history", "minimumLifetime", "maximumLifetime", "maximumFailures",
        "failureCountInterval", "lockoutDuration",
    ]

    fileprivate init(_ mapping: PlanMapping) throws(PlanFault) {
        self.init(
            try mapping.needed("name"),
            minimumLength: try mapping.number("minimumLength"),
            minimumClasses: try mapping.number("minimumClasses"),
            history: try mapping.number("history"),
            minimumLifetime: try mapping.duration("minimumLifetime"),
            maximumLifetime: try mapping.duration("maximumLifetime"),
            maximumFailures: try mapping.number("maximumFailures"),
            failureCountInterval: try mapping.duration("failureCountInterval"),
            lockoutDuration: try mapping.duration("lockoutDuration")
        )
    }
}

extension TestPrincipal {
    fileprivate static let planKeys: Set<String> = [
        "name", "password", "attributes", "ticketLifetime", "renewableLifetime", "expires", "passwordExpires", "encryptionTypes", "policy",
    ]

    /// The attributes of kadmin(1), without a sign.
    private static let kadminAttributes: Set<String> = [
        "allow_postdated", "allow_forwardable", "allow_renewable", "allow_proxiable", "allow_dup_skey", "requires_preauth",
        "requires_hwauth", "ok_as_delegate", "allow_svr", "allow_tgs_req", "allow_tix", "needchange", "password_changing_service",
        "ok_to_auth_as_delegate", "no_auth_data_required", "lockdown_keys",
    ]

    fileprivate init(_ mapping: PlanMapping) throws(PlanFault) {
        var attributes: [Attribute] = []
        for name in try mapping.texts("attributes") {
            // The two common attributes have plain names; the others have kadmin's names.
            switch name {
            case "locked": attributes.append(.locked)
            case "needsPasswordChange": attributes.append(.needsPasswordChange)
            case _ where ["+", "-"].contains(name.prefix(1)) && Self.kadminAttributes.contains(String(name.dropFirst())):
                attributes.append(Attribute(kadmin: name))
            default:
                let message =
                    "unknown attribute \(name). Use locked, needsPasswordChange, or an attribute of kadmin with its sign, "
                    + "such as +ok_as_delegate."
                throw PlanFault(mapping.place("attributes"), message)
            }
        }
        self.init(
            try mapping.needed("name"),
            password: try mapping.text("password"),
            attributes: attributes,
            ticketLifetime: try mapping.duration("ticketLifetime"),
            renewableLifetime: try mapping.duration("renewableLifetime"),
            expires: try mapping.expiry("expires"),
            passwordExpires: try mapping.expiry("passwordExpires"),
            encryptionTypes: try mapping.texts("encryptionTypes").map { EncryptionType($0) },
            policy: try mapping.text("policy")
        )
    }
}

extension PlanMapping {
    /// Reads `never`, `past`, a duration from now such as `90s`, or a date such as 2030-01-31T12:00:00Z.
    fileprivate func expiry(_ key: String) throws(PlanFault) -> TestPrincipal.Expiry {
        switch try text(key) {
        case nil, "never": return .never
        case "past": return .past
        case let words?:
            if let lifetime = Lifetime(argument: words) { return .after(lifetime.duration) }
            if let date = try? Date(words, strategy: .iso8601) { return .at(date) }
            throw PlanFault(
                place(key),
                "expected never, past, a time from now such as 90s, or a date such as 2030-01-31T12:00:00Z."
            )
        }
    }
}
