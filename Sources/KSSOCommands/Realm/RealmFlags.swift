internal import ArgumentParser
internal import KerberosTesting

/// The flags that describe a realm, as a short form of a plan.
struct RealmFlags: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "Take everything from this file (YAML) instead of flags; see the documentation of KerberosTesting.",
            valueName: "plan"
        )
    )
    var file: String?
    @Option(help: ArgumentHelp("A realm's name, EXAMPLE.TEST by default; may be given several times.", valueName: "realm"))
    var realm: [String] = []
    @Option(
        help: ArgumentHelp(
            "A user, NAME@REALM:PASSWORD in another realm than the first; may be given several times.",
            valueName: "name:password"
        )
    )
    var user: [String] = []
    @Option(help: ArgumentHelp("A service with a key in the keytab; may be given several times.", valueName: "principal"))
    var service: [String] = []
    @Option(
        help: ArgumentHelp("Clients of A reach services of B: A->B, or A<->B for both ways; may be given several times.", valueName: "A->B")
    )
    var trust: [String] = []
    @Option(
        help: ArgumentHelp(
            "Begin with a fault between clients and the first realm's KDC: drop, refuse, black-hole, delay=200ms, error=29 and others.",
            valueName: "fault"
        )
    )
    var fault: String?
    @Option(
        parsing: .unconditional,
        help: ArgumentHelp("By how much the first realm's KDC's clock is off: +5m, -90s.", valueName: "offset")
    )
    var clock: ClockOffset?
    @Option(help: ArgumentHelp("How many KDCs the first realm has.", valueName: "number"))
    var kdcs = 1
    @Option(
        help: ArgumentHelp(
            "Listen at this address of the machine, 127.0.0.1 by default: 172.17.0.1 is for Docker's containers. Whoever reaches it may ask.",
            valueName: "address"
        )
    )
    var listen: String?
    @Flag(help: "Passwords of the first realm can be changed (kpasswd).")
    var passwordChanges = false
    @Flag(help: "Users of the first realm may sign in with certificates (PKINIT).")
    var certificates = false
    @Flag(help: "The first realm's KDC takes protected sign-ins (FAST) alone.")
    var fast = false

    func validate() throws {
        for entry in user where !entry.dropFirst().contains(":") {
            throw ValidationError("--user wants NAME:PASSWORD, not '\(entry)'.")
        }
        for name in user.map(Self.parts).compactMap(\.realm) + service.compactMap({ Self.realm(of: $0) }) where !names.contains(name) {
            throw ValidationError("there is no realm \(name); name it by --realm.")
        }
        if Set(names).count < names.count { throw ValidationError("--realm names one realm twice.") }
        for words in trust where RealmTrust(words: words) == nil { throw ValidationError("--trust wants A->B or A<->B, not '\(words)'.") }
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
            throw ValidationError("--file says what the realm is: leave the flags for realms, users, services, faults and addresses out.")
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

    /// Splits NAME:PASSWORD or NAME@REALM:PASSWORD; the password may contain any character.
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
