internal import CommandSupport
internal import Foundation
internal import SignOnPolicy

/// The policies of Firefox, which has one file for all of them.
struct FirefoxSettings: SignOnSettings {
    let context: SettingsContext

    let name = "Firefox"
    let word = "firefox"
    let isMachineWide = true

    init(_ context: SettingsContext) { self.context = context }

    var isInstalled: Bool { context.hasProgram(["firefox", "firefox-esr"]) }

    /// Firefox reads the first of these files that exists.
    private static let paths = [
        "/etc/firefox/policies/policies.json", "/usr/lib/firefox/distribution/policies.json",
        "/usr/lib/firefox-esr/distribution/policies.json",
    ]

    private static let hosts = ["policies", "Authentication", "SPNEGO"]
    private static let delegation = ["policies", "Authentication", "Delegated"]

    private var path: String { Self.paths.first { access($0, F_OK) == 0 } ?? Self.paths[0] }

    func files() -> [any SettingsFile] {
        var settings: [JSONSettingsFile.Setting] = []
        func add(_ keys: [String], _ hosts: [SettingsContext.AnsweredHosts]) {
            let present = foreign(keys)
            let lacking = hosts.map(Entry.init(allowing:)).filter { entry in !present.contains { $0.covers(entry) } }
            if !lacking.isEmpty { settings.append(.init(path: keys, content: .elements(lacking.map(\.text)))) }
        }
        add(Self.hosts, context.answeredHosts)
        add(Self.delegation, context.unconditionalDelegationHosts)
        return [file(path, settings: settings)]
    }

    func formerFiles() -> [any SettingsFile] { Self.paths.map { file($0, settings: []) } }

    private func file(_ path: String, settings: [JSONSettingsFile.Setting]) -> JSONSettingsFile {
        JSONSettingsFile(path: path, settings: settings, record: context.machineRecord, mode: AtomicFile.machineMode)
    }

    private func foreign(_ keys: [String]) -> [Entry] {
        JSONSettingsFile.foreignElements(at: keys, of: path, context.machineRecord).map { Entry($0) }
    }

    var notes: [String] {
        var notes = ["Firefox reads its policies when it starts."]
        let rules = context.answeredHosts.map(\.rule)
        let exact = rules.first { rule in
            switch rule.kind {
            case .exact: !rules.contains { $0.covers(rule.subdomains) }
            case .suffix: false
            }
        }
        if let exact {
            notes.append(
                "In Firefox, an entry also allows the subdomains of its host: \(exact) allows x.\(exact), which the profile does not."
            )
        }
        if !context.delegationHosts.isEmpty {
            notes.append(
                "DelegationHosts is not written, because Firefox delegates without the KDC's approval: "
                    + "its policy Delegated contains only the hosts of UnconditionalDelegationHosts."
            )
        }
        return notes + [ChromiumSettings.sandboxNote]
    }

    func refusal(of origin: Origin) -> SettingsFinding? {
        let wanted = Entry("\(origin.scheme.rawValue)://\(origin.host)")
        let all = JSONSettingsFile.elements(at: Self.hosts, of: path).map { Entry($0) }
        guard !all.contains(where: { $0.covers(wanted) }) else { return nil }
        return SettingsFinding(
            .missing,
            "no policy in \(path) allows \(origin.host), so the browser sends no ticket.",
            remedy: context.command(word, "--install", isMachineWide: true)
        )
    }

    func contradictions() async -> [SettingsFinding] {
        var texts: [String] = []
        if foreign(Self.hosts).contains(where: \.coversEverything) {
            texts.append("\(path) allows every host in SPNEGO, so Firefox sends tickets to hosts that no profile lists")
        }
        let wanted = context.unconditionalDelegationHosts.map(Entry.init(allowing:))
        let surplus = foreign(Self.delegation).filter { entry in !wanted.contains { $0.covers(entry) } }
        if !surplus.isEmpty {
            let hosts = surplus.map(\.text).joined(separator: ", ")
            texts.append("\(path) delegates the user's ticket to \(hosts), which UnconditionalDelegationHosts does not list")
        }
        return texts.map { SettingsFinding(.contradicts, $0) }
    }

    /// An entry of a list of hosts. `example.com` matches its subdomains too, `.example.com` the subdomains only, and a scheme without a
    /// host matches every host.
    struct Entry: Hashable {
        let text: String
        /// Nil stands for all schemes.
        let scheme: String?
        let host: String
        let hasPort: Bool

        init(_ text: String) {
            self.text = text
            let parts = text.lowercased().components(separatedBy: "://")
            scheme = parts.count > 1 ? parts[0] : nil
            let authority = parts[parts.count - 1].split(separator: ":", omittingEmptySubsequences: false)
            host = String(authority.first ?? "")
            hasPort = authority.count > 1
        }

        /// The entry for a rule: with https alone, unless its hosts are answered over plain http.
        init(allowing hosts: SettingsContext.AnsweredHosts) {
            self.init(hosts.isPlain ? hosts.rule.name : "https://\(hosts.rule.name)")
        }

        /// Whether the entry matches every host that another one matches.
        func covers(_ other: Entry) -> Bool {
            guard !hasPort, scheme == nil || scheme == other.scheme else { return false }
            if host.isEmpty || host == other.host { return true }
            return other.host.hasSuffix(host.hasPrefix(".") ? host : ".\(host)")
        }

        /// Whether the entry matches every host of a scheme.
        var coversEverything: Bool { host.isEmpty && !hasPort }
    }
}
