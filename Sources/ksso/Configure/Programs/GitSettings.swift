internal import CommandSupport
internal import Foundation
internal import SignOnPolicy
internal import Subprocess
internal import SystemPackage

/// The settings with which git sends a ticket to the profile's hosts instead of asking for a user name.
struct GitSettings: SignOnSettings {
    let context: SettingsContext

    let name = "git"
    let word = "git"

    init(_ context: SettingsContext) { self.context = context }

    var isInstalled: Bool { context.hasProgram("git") }

    func files() -> [any SettingsFile] {
        [
            MarkedFile(
                path: context.isMachine ? systemPath : userPath,
                lines: sections.map { "[http \"\($0.url)\"]\n    emptyAuth = true\n    delegation = \($0.delegation)\n" }.joined(),
                marks: context.marks(word),
                isOursAlone: false,
                mode: context.fileMode,
                isOwn: { $0.wholeMatch(of: /\[http "[^"]*"\]|\s+emptyAuth = true|\s+delegation = [a-z]+/) != nil }
            )
        ]
    }

    private var systemPath: String { named("GIT_CONFIG_SYSTEM") ?? "/etc/gitconfig" }

    /// The file that `git config --global` writes to.
    private var userPath: String {
        if let path = named("GIT_CONFIG_GLOBAL") { return path }
        let (first, second) = ("\(context.home)/.gitconfig", "\(context.settingsFolder)/git/config")
        return access(first, F_OK) != 0 && access(second, F_OK) == 0 ? second : first
    }

    private func named(_ variable: String) -> String? { context.environment[variable].flatMap { $0.hasPrefix("/") ? $0 : nil } }

    /// A star stands for one label of a host name, so subdomains of any depth cannot be expressed.
    private static let depth = 3

    /// A URL pattern of git, and what applies to it.
    private struct Section: Hashable {
        let url: String
        let delegation: String
    }

    private var sections: [Section] {
        // A later section has precedence over an earlier one of the same URL, and a longer host over a shorter one.
        let delegating = [
            (hosts: context.answeredHosts, value: "none"), (hosts: context.delegationHosts, value: "policy"),
            (hosts: context.unconditionalDelegationHosts, value: "always"),
        ]
        var sections: [Section] = []
        for (hosts, value) in delegating {
            for url in hosts.flatMap(Self.urls) {
                sections.removeAll { $0.url == url }
                sections.append(Section(url: url, delegation: value))
            }
        }
        return sections
    }

    private static func urls(_ hosts: SettingsContext.AnsweredHosts) -> [String] {
        let names =
            switch hosts.rule.kind {
            case .exact: [hosts.rule.name]
            case .suffix: (1...depth).map { String(repeating: "*.", count: $0 - 1) + "*\(hosts.rule.name)" }
            }
        return names.map { "https://\($0)" } + (hosts.isPlain ? names.map { "http://\($0)" } : [])
    }

    var notes: [String] {
        var notes = ["A URL with a port needs a section of its own, such as [http \"https://git.corp.example:8443\"]."]
        if let rule = context.answeredHosts.first(where: { $0.rule.kind == .suffix })?.rule {
            notes.append("In git, * stands for one label: the sections cover hosts up to \(Self.depth) labels below \(rule.domain).")
        }
        return notes
    }

    /// Root's settings for the machine, or lines of the user's own, may be all that is needed.
    func otherPlace() async -> String? {
        guard isInstalled, !sections.isEmpty else { return nil }
        for section in sections {
            let url = section.url.replacing("*", with: "x")
            guard await setting("http.emptyAuth", url, type: "bool") == "true" else { return nil }
            let delegation = await setting("http.delegation", url) ?? "none"
            guard delegation == section.delegation else { return nil }
        }
        return "git's other files have these settings"
    }

    func refusal(of origin: Origin) async -> SettingsFinding? {
        let isStandardPort = origin.port == origin.scheme.defaultPort
        let url = origin.description
        guard await setting("http.emptyAuth", url, type: "bool") != "true" else { return nil }
        let remedy =
            isStandardPort
            ? context.command(word, "--install", isMachineWide: false) : "git config --global http.\(url).emptyAuth true"
        return SettingsFinding(.missing, "http.emptyAuth is not set for \(url), so git asks for a user name.", remedy: remedy)
    }

    func contradictions() async -> [SettingsFinding] {
        guard isInstalled else { return [] }
        var findings: [SettingsFinding] = []
        // A later line of another file, or a longer URL, may say something else.
        for section in sections {
            let url = section.url.replacing("*", with: "x")
            if let value = await setting("http.emptyAuth", url, type: "bool"), value != "true" {
                findings.append(SettingsFinding(.contradicts, "http.emptyAuth is \(value) for \(url): find it with: \(Self.search)"))
            }
            if let value = await setting("http.delegation", url), value != section.delegation {
                let text =
                    "http.delegation is \(value) for \(url), and the profile requires \(section.delegation): find it with: \(Self.search)"
                findings.append(SettingsFinding(.contradicts, text))
            }
        }
        return findings
    }

    /// The proxy that git uses for every host because of its own settings; nil if they name none.
    var proxy: String? { get async { isInstalled ? await setting("http.proxy", "https://host.invalid/") : nil } }

    private static let search = "git config --show-origin --get-regexp '^http\\.'"

    /// The value that git uses for a URL outside of any repository; nil if there is none.
    private func setting(_ key: String, _ url: String, type: String? = nil) async -> String? {
        let variables = context.environment.map { (Subprocess.Environment.Key(stringLiteral: $0.key), $0.value) }
        let result = try? await Subprocess.run(
            .name("git"),
            arguments: Arguments(["config"] + (type.map { ["--type=\($0)"] } ?? []) + ["--get-urlmatch", key, url]),
            environment: .custom(Dictionary(variables) { $1 }),
            workingDirectory: "/",
            input: .none,
            output: .string(limit: 4096),
            error: .discarded
        )
        guard let result, result.terminationStatus.isSuccess else { return nil }
        return result.standardOutput.trimmingCharacters(in: .whitespacesAndNewlines)
    }
}
