internal import CommandSupport
internal import Foundation
internal import SignOnPolicy

/// The policies of Chromium and of the browsers that are made from it.
struct ChromiumSettings: SignOnSettings {
    let context: SettingsContext
    /// The browsers whose policies are examined.
    let browsers: [Browser]

    var name: String { browsers.map(\.name).withoutRepetitions.joined(separator: ", ") }
    let word = "chromium"
    let isMachineWide = true

    /// A browser and the folder of its mandatory policies.
    struct Browser: Sendable {
        let name: String
        let programs: [String]
        let folder: String

        static let all = [
            Browser(name: "Chromium", programs: ["chromium"], folder: "/etc/chromium/policies/managed"),
            Browser(name: "Chromium", programs: ["chromium-browser"], folder: "/etc/chromium-browser/policies/managed"),
            Browser(
                name: "Chrome",
                programs: ["google-chrome", "google-chrome-stable"],
                folder: "/etc/opt/chrome/policies/managed"
            ),
            Browser(name: "Edge", programs: ["microsoft-edge", "microsoft-edge-stable"], folder: "/etc/opt/edge/policies/managed"),
        ]
    }

    /// The installed browsers; without one, Chromium's settings can be prepared.
    init(_ context: SettingsContext) {
        let installed = Self.installed(context)
        self.init(context, browsers: installed.isEmpty ? [Browser.all[0]] : installed)
    }

    private init(_ context: SettingsContext, browsers: [Browser]) {
        self.context = context
        self.browsers = browsers
    }

    /// The settings of each installed browser.
    static func each(_ context: SettingsContext) -> [ChromiumSettings] {
        installed(context).map { ChromiumSettings(context, browsers: [$0]) }
    }

    var isInstalled: Bool { !Self.installed(context).isEmpty }

    private static func installed(_ context: SettingsContext) -> [Browser] {
        Browser.all.filter { context.hasProgram($0.programs) }
    }

    private static let hosts = "AuthServerAllowlist"
    private static let delegation = "AuthNegotiateDelegateAllowlist"
    private static let delegationMode = "AuthNegotiateDelegateByKdcPolicy"
    private static let library = "GSSAPILibraryName"
    private static let schemes = "AuthSchemes"

    func files() throws(CommandFailure) -> [any SettingsFile] {
        var files: [any SettingsFile] = []
        for browser in browsers { files.append(file(browser, settings: try settings(browser))) }
        return files
    }

    func formerFiles() -> [any SettingsFile] { Browser.all.map { file($0, settings: []) } }

    private func file(_ browser: Browser, settings: [JSONSettingsFile.Setting]) -> JSONSettingsFile {
        JSONSettingsFile(
            path: ownFile(browser),
            settings: settings,
            record: context.machineRecord,
            mode: AtomicFile.machineMode,
            isShared: false
        )
    }

    private func ownFile(_ browser: Browser) -> String { "\(browser.folder)/ksso.json" }

    var notes: [String] {
        var notes = [
            "A running Chromium reloads its policies at chrome://policy. With a new browser profile, it refuses the first page that "
                + "asks for a ticket: reload the page."
        ]
        if !context.unconditionalDelegationHosts.isEmpty {
            notes.append(
                "UnconditionalDelegationHosts is not written, because \(Self.delegationMode) applies to all hosts: "
                    + "these hosts get a delegated ticket from Chromium only if the KDC approves and DelegationHosts lists them."
            )
        }
        return notes + [Self.sandboxNote]
    }

    /// What does not read the machine's policies.
    static let sandboxNote =
        "A browser installed as a snap or a Flatpak can access neither the agent's folder nor its socket, "
        + "and a Flatpak reads its policies elsewhere."

    /// The settings that other files do not have already.
    private func settings(_ browser: Browser) throws(CommandFailure) -> [JSONSettingsFile.Setting] {
        var settings: [JSONSettingsFile.Setting] = []
        func add(_ key: String, _ value: JSONText) {
            settings.append(JSONSettingsFile.Setting(path: [key], content: .value(value)))
        }
        if other(Self.library, browser)?.value.string?.contains("gssapi_krb5") != true { add(Self.library, .string("libgssapi_krb5.so.2")) }
        if let list = try list(Self.hosts, context.answeredHosts, browser) { add(Self.hosts, .string(list)) }
        if let list = try list(Self.delegation, context.delegationHosts, browser) { add(Self.delegation, .string(list)) }
        if !context.delegationHosts.isEmpty, other(Self.delegationMode, browser)?.value != .scalar("true") {
            add(Self.delegationMode, .scalar("true"))
        }
        return settings
    }

    /// Returns the value of a list; nil if it is empty, or if another file has its entries.
    private func list(
        _ key: String,
        _ hosts: [SettingsContext.AnsweredHosts],
        _ browser: Browser
    ) throws(CommandFailure) -> String? {
        let wanted = hosts.map(Entry.init(allowing:))
        guard !wanted.isEmpty else { return nil }
        guard let (path, value) = other(key, browser) else { return wanted.map(\.text).joined(separator: ",") }
        let present = Entry.list(value.string ?? "")
        let lacking = wanted.filter { entry in !present.contains { $0.covers(entry) } }
        guard !lacking.isEmpty else { return nil }
        throw CommandFailure(
            .failed,
            "\(path) sets \(key), and \(browser.name) uses only one file for each policy. "
                + "Add \(lacking.map(\.text).joined(separator: ",")) to it there, or remove it."
        )
    }

    func refusal(of origin: Origin) -> SettingsFinding? {
        let wanted = Entry("\(origin.scheme.rawValue)://\(origin.host)")
        let refusing = browsers.filter { browser in
            let value = effective(Self.hosts, in: browser) { _ in true }?.value.string ?? ""
            return !Entry.list(value).contains { $0.covers(wanted) }
        }
        guard !refusing.isEmpty else { return nil }
        let folders = refusing.map(\.folder).joined(separator: " or ")
        return SettingsFinding(
            .missing,
            "no policy in \(folders) allows \(origin.host), so the browser sends no ticket.",
            remedy: context.command(word, "--install", isMachineWide: true)
        )
    }

    func contradictions() async -> [SettingsFinding] { browsers.flatMap { contradictions($0) } }

    private func contradictions(_ browser: Browser) -> [SettingsFinding] {
        var texts: [String] = []
        if let (path, value) = other(Self.schemes, browser), let list = value.string, !list.lowercased().contains("negotiate") {
            texts.append("\(path) sets \(Self.schemes) to \(list): add negotiate to it")
        }
        if let (path, value) = other(Self.library, browser), value.string?.contains("gssapi_krb5") == false {
            texts.append("\(path) sets \(Self.library) to a library that does not read the agent's tickets: remove it")
        }
        if let (path, value) = other(Self.hosts, browser), Entry.list(value.string ?? "").contains(where: \.coversEverything) {
            texts.append("\(path) allows every host in \(Self.hosts), so \(browser.name) sends tickets to hosts that no profile lists")
        }
        if let (path, value) = other(Self.delegation, browser) {
            let wanted = context.delegationHosts.map { Entry(allowing: .init(rule: $0.rule, isPlain: true)) }
            let surplus = Entry.list(value.string ?? "").filter { entry in !wanted.contains { $0.covers(entry) } }
            if !surplus.isEmpty {
                let hosts = surplus.map(\.text).joined(separator: ",")
                texts.append("\(path) delegates the user's ticket to \(hosts), which DelegationHosts does not list")
            }
        }
        return texts.map { SettingsFinding(.contradicts, $0) }
    }

    /// The value of a policy in the files of others.
    private func other(_ key: String, _ browser: Browser) -> (path: String, value: JSONText)? {
        let own = ownFile(browser)
        return effective(key, in: browser) { $0 != own }
    }

    /// The value of a policy. Of several files, the one with the last name has precedence.
    private func effective(
        _ key: String,
        in browser: Browser,
        _ isUsed: (String) -> Bool
    ) -> (path: String, value: JSONText)? {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: browser.folder)) ?? []
        for name in names.sorted().reversed() {
            let path = "\(browser.folder)/\(name)"
            guard isUsed(path), let document = try? JSONSettingsFile.document(path), let value = document[[key]] else { continue }
            return (path, value)
        }
        return nil
    }

    /// An entry of a list of hosts: a host, `*.domain`, or a pattern with `*` in another place, each perhaps with a scheme.
    struct Entry: Hashable {
        let text: String
        /// Nil stands for all schemes.
        let scheme: String?
        /// The host, or the end of the host names that match.
        let name: String
        let isSuffix: Bool
        let hasPort: Bool

        /// The entries of a list.
        static func list(_ text: String) -> [Entry] {
            text.split(separator: ",").map { Entry($0.trimmingCharacters(in: .whitespaces)) }.filter { !$0.text.isEmpty }
        }

        init(_ text: String) {
            self.text = text
            let parts = text.lowercased().components(separatedBy: "://")
            scheme = parts.count > 1 ? parts[0] : nil
            let host = parts[parts.count - 1].split(separator: ":", omittingEmptySubsequences: false)
            hasPort = host.count > 1
            let pattern = String(host.first ?? "")
            isSuffix = pattern.hasPrefix("*") || pattern.hasPrefix(".")
            name = pattern.hasPrefix("*") ? String(pattern.dropFirst()) : pattern
        }

        /// The entry for a rule: with https alone, unless its hosts are answered over plain http.
        init(allowing hosts: SettingsContext.AnsweredHosts) {
            let host =
                switch hosts.rule.kind {
                case .exact: hosts.rule.name
                case .suffix: "*\(hosts.rule.name)"
                }
            self.init(hosts.isPlain ? host : "https://\(host)")
        }

        /// Whether the entry matches every host that another one matches.
        func covers(_ other: Entry) -> Bool {
            guard !hasPort, scheme == nil || scheme == other.scheme else { return false }
            guard isSuffix else { return !other.isSuffix && name == other.name }
            return other.name.hasSuffix(name)
        }

        /// Whether the entry matches every host of a scheme.
        var coversEverything: Bool { isSuffix && name.isEmpty && !hasPort }
    }
}
