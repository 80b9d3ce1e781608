import SignOnPolicy

/// Checks the keys of one payload, and their combinations.
struct PayloadChecker {
    /// A host in the payload's `Hosts`, and its place.
    struct Host {
        let rule: HostRule
        let path: ProfileKeyPath
        let payloadIndex: Int
    }

    let index: Int
    let path: ProfileKeyPath
    let keys: [String: ProfileValue]
    private(set) var rows: [ProfileReportRow] = []
    private(set) var advice: [ProfileAdvice] = []
    private(set) var hosts: [Host] = []

    /// Whether the programs in lists are looked for on this machine.
    let examinesMachine: Bool

    init(index: Int, path: ProfileKeyPath, keys: [String: ProfileValue], examinesMachine: Bool) {
        self.examinesMachine = examinesMachine
        self.index = index
        self.path = path
        self.keys = keys
    }

    mutating func check(isPropertyList: Bool) {
        let data = keys["ExtensionData"]?.dictionary ?? [:]
        check(keys, in: .payload, at: path)
        check(data, in: .extensionData, at: path.appending(key: "ExtensionData"))
        for (offset, text) in (keys["Hosts"]?.strings ?? []).enumerated() {
            guard let rule = try? HostRule(text) else { continue }
            hosts.append(Host(rule: rule, path: path.appending(key: "Hosts").appending(index: offset), payloadIndex: index))
        }
        adviseOnRealm(data)
        adviseOnCard(data)
        advice += hostAdvice() + callerListAdvice() + variableAdvice()
        if keys["TeamIdentifier"] == nil {
            advise(.advice, "TeamIdentifier", "The key is missing. A Mac requires it, with the value apple.")
        }
        if isPropertyList, keys["PayloadType"] == nil {
            advise(.warning, "PayloadType", "The key is missing. A Mac accepts the payload only with com.apple.extensiblesso.")
        }
    }

    private mutating func check(_ keys: [String: ProfileValue], in place: ProfileKey.Place, at path: ProfileKeyPath) {
        for (name, value) in keys.sorted(by: { $0.key < $1.key }) { check(name, value, in: place, at: path.appending(key: name)) }
        for key in ProfileKey.all where key.place == place && key.isRequired && keys[key.name] == nil {
            append(
                key.name,
                path.appending(key: key.name),
                nil,
                .missing(expected: key.check.expectation ?? key.type.description),
                isUsed: true
            )
        }
    }

    private mutating func check(_ name: String, _ value: ProfileValue, in place: ProfileKey.Place, at path: ProfileKeyPath) {
        let verdict = KeyChecker.verdict(name: name, place: place)
        guard let key = ProfileKey.named(name, in: place) else {
            append(name, path, value, verdict, isUsed: false)
            return
        }
        let faults = KeyChecker.faults(in: value, of: key)
        for fault in faults {
            append(name, ProfileKeyPath(path.components + fault.steps), value, fault.verdict, isUsed: key.isUsed)
        }
        if faults.isEmpty { append(name, path, value, callerListVerdict(name, value) ?? verdict, isUsed: key.isUsed) }
        if key.isDeprecated {
            let remark = ProfileAdvice(.advice, path: path, payloadIndex: index, "This key is deprecated; omit it from new profiles.")
            advice.append(remark)
        }
    }

    private mutating func append(
        _ key: String,
        _ path: ProfileKeyPath,
        _ value: ProfileValue?,
        _ verdict: KeyVerdict,
        isUsed: Bool
    ) {
        rows.append(ProfileReportRow(key: key, path: path, payloadIndex: index, value: value, verdict: verdict, isUsed: isUsed))
    }

    private mutating func advise(_ severity: ProfileAdvice.Severity, _ key: String, _ sentence: String) {
        advice.append(ProfileAdvice(severity, path: path.appending(key: key), payloadIndex: index, sentence))
    }

    /// krb5.conf may name the card.
    private mutating func adviseOnCard(_ data: [String: ProfileValue]) {
        let key = "SignInOnCardInsertion"
        guard keys[key]?.boolean == true else { return }
        let identity = keys["CertificateIdentity"]?.string
        if data["allowSmartCard"]?.boolean == false {
            advise(.advice, key, "It has no effect, because allowSmartCard is false.")
        } else if let identity, !identity.hasPrefix("PKCS11:") {
            advise(.warning, key, "It has no effect, because CertificateIdentity is no smart card (PKCS11:).")
        } else if identity == nil {
            advise(.advice, key, "It requires a smart card: set CertificateIdentity, or pkinit_identities in krb5.conf, to PKCS11:")
        }
    }

    private mutating func adviseOnRealm(_ data: [String: ProfileValue]) {
        guard let realm = keys["Realm"]?.string else { return }
        if let warning = ExtensionConfiguration.caseWarning(realm: realm) { advise(.warning, "Realm", warning) }
        guard let principal = data["principalName"]?.string, let sign = principal.lastIndex(of: "@") else { return }
        let other = principal[principal.index(after: sign)...]
        if other.uppercased() != realm.uppercased() {
            let place = path.appending(key: "ExtensionData").appending(key: "principalName")
            let sentence =
                "The principal's realm is \(String(other).debugDescription), but the payload's realm is \(realm.debugDescription)."
            advice.append(ProfileAdvice(.warning, path: place, payloadIndex: index, sentence))
        }
    }
}
