internal import ArgumentParser
internal import KerberosTesting

/// The flags that describe a realm, as a short form of a plan.
struct RealmFlags: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "Read the realms from this YAML file instead of flags; see the documentation of KerberosTesting.",
            valueName: "plan"
        ),
        completion: .file(extensions: ["yaml", "yml"])
    )
    var file: String?
    @Option(help: ArgumentHelp("Create a realm with this name; by default EXAMPLE.TEST; may be repeated.", valueName: "realm"))
    var realm: [String] = []
    @Option(
        help: ArgumentHelp(
            "Add a user to the first realm, or to another one with NAME@REALM:PASSWORD; may be repeated.",
            valueName: "name:password"
        )
    )
    var user: [String] = []
    @Option(
        help: ArgumentHelp(
            "Add a service with a key in the keytab to the first realm, or with PRINCIPAL@REALM to another one; may be repeated.",
            valueName: "principal"
        )
    )
    var service: [String] = []
    @Option(
        help: ArgumentHelp("Let clients of A reach services of B with A->B, or both ways with A<->B; may be repeated.", valueName: "A->B")
    )
    var trust: [String] = []
    @Option(
        help: ArgumentHelp(
            "Start with a fault between clients and the first realm's KDC: drop, refuse, black-hole, delay=200ms, error=29 and others.",
            valueName: "fault"
        ),
        completion: .list(NetworkFault.names)
    )
    var fault: String?
    @Option(
        parsing: .unconditional,
        help: ArgumentHelp("Set the clock offset of the first realm's KDC, such as +5m or -90s.", valueName: "offset")
    )
    var clock: ClockOffsetArgument?
    @Option(help: ArgumentHelp("Start this many KDCs for the first realm.", valueName: "number"))
    var kdcs = 1
    @Option(
        help: ArgumentHelp(
            "Listen on this address, by default 127.0.0.1; 172.17.0.1 serves Docker containers. "
                + "Anyone who can reach it can request tickets.",
            valueName: "address"
        )
    )
    var listen: String?
    @Flag(help: "Accept password changes (kpasswd) in the first realm.")
    var passwordChanges = false
    @Flag(help: "Create a certificate for each user of the first realm, for signing in (PKINIT).")
    var certificates = false
    @Flag(help: "Require FAST for sign-ins to the first realm.")
    var fast = false

    func validate() throws {
        for entry in user where !entry.dropFirst().contains(":") {
            throw ValidationError("--user requires NAME:PASSWORD, not '\(entry)'.")
        }
        for name in user.map(Self.parts).compactMap(\.realm) + service.compactMap({ Self.realm(of: $0) }) where !names.contains(name) {
            throw ValidationError("there is no realm \(name). Create it with: --realm \(name)")
        }
        if let name = names.first(where: { !RealmPlan.isRealmName($0) }) {
            throw ValidationError("--realm: '\(name)' is not a realm name.")
        }
        if Set(names).count < names.count { throw ValidationError("--realm specifies the same realm twice.") }
        try checkPrincipals()
        try checkTrusts()
        if let fault, NetworkFault(words: fault) == nil { throw ValidationError("--fault: \(NetworkFault.forms)") }
        if let listen {
            do throws(KerberosTestingError) { _ = try ListeningAddress(listen) } catch {
                throw ValidationError("--listen: \(error.message)")
            }
        }
        guard file != nil else { return }
        if !realm.isEmpty || !user.isEmpty || !service.isEmpty || !trust.isEmpty || fault != nil || clock != nil || kdcs != 1
            || passwordChanges
            || certificates || fast || listen != nil
        {
            throw ValidationError("--file cannot be combined with flags for realms, users, services, faults or addresses.")
        }
    }

    private func checkPrincipals() throws {
        for (name, _, password) in user.map(Self.parts) {
            if name.contains("@") { throw ValidationError("--user: '\(name)' is not a user name; it contains a second @.") }
            if RealmPlan.hasControlCharacter(password) {
                throw ValidationError("--user: the password of \(name) contains a control character, which kadmin cannot read.")
            }
        }
        let users = user.map(Self.parts).map { "\($0.name)@\($0.realm ?? names[0])" }
        let services = service.map { $0.contains("@") ? $0 : "\($0)@\(names[0])" }
        for (option, principals) in [("--user", users), ("--service", services)] {
            guard let repeated = principals.first(where: { name in principals.count { $0 == name } > 1 }) else { continue }
            throw ValidationError("\(option) specifies \(repeated) twice.")
        }
    }

    private func checkTrusts() throws {
        for words in trust {
            guard RealmTrust(words: words) != nil else { throw ValidationError("--trust requires A->B or A<->B, not '\(words)'.") }
            if let fault = RealmTrust.fault(ofWords: words, among: names) { throw ValidationError("--trust: \(fault)") }
        }
    }

    /// Converts the flags to a plan.
    func plan() -> RealmPlan {
        var realms = names.map { TestRealmOptions(name: $0) }
        for (name, realm, password) in user.map(Self.parts) { realms[index(of: realm)].users[name] = password }
        for name in self.service {
            let realm = Self.realm(of: name)
            realms[index(of: realm)].services.append(realm == nil ? name : String(name[..<(name.lastIndex(of: "@") ?? name.endIndex)]))
        }
        realms[0].clockOffset = clock?.duration
        realms[0].kdcCount = kdcs
        realms[0].acceptsPasswordChanges = passwordChanges
        realms[0].acceptsCertificates = certificates
        realms[0].demandsFAST = fast
        // Without the proxy, no fault can be set later.
        for index in realms.indices { realms[index].faultProxy = fault != nil }
        var plan = RealmPlan(realms: realms, trusts: trust.compactMap { RealmTrust(words: $0) })
        if let listen { plan.listen(at: listen) }
        if let fault = fault.flatMap({ NetworkFault(words: $0) }) { plan.faults[realms[0].name] = fault }
        return plan
    }

    private var names: [String] { realm.isEmpty ? ["EXAMPLE.TEST"] : realm }

    private func index(of realm: String?) -> Int { realm.flatMap { names.firstIndex(of: $0) } ?? 0 }

    /// Splits NAME:PASSWORD or NAME@REALM:PASSWORD; the password may contain colons.
    private static func parts(_ entry: String) -> (name: String, realm: String?, password: String) {
        let parts = entry.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
        let password = parts.count > 1 ? parts[1] : ""
        guard let realm = realm(of: parts[0]) else { return (parts[0], nil, password) }
        return (String(parts[0].dropLast(realm.count + 1)), realm, password)
    }

    private static func realm(of principal: String) -> String? {
        principal.lastIndex(of: "@").map { String(principal[principal.index(after: $0)...]) }
    }
}
