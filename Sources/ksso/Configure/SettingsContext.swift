internal import CommandSupport
internal import ExtensionProfile
internal import Foundation
internal import NegotiateProxy
internal import SignOnPolicy
internal import SystemSupport

/// Whom the settings are for, and what they are made from.
struct SettingsContext: Sendable {
    let environment: [String: String]
    /// The configurations of the active profiles.
    let configurations: [ExtensionConfiguration]
    /// Whether the settings are for every user of the machine, as root's are.
    let isMachine: Bool
    /// The local proxy that programs are to use, as `host:port`.
    var proxy = DefaultProxyAddress.text
    /// Whether root configures its own account.
    var isOwnAccountOfRoot = false

    /// Reads the profiles. The settings of the machine are made from its own profiles and not from those of root's home.
    static func load(profiles: [String], isMachine: Bool, environment: [String: String]) async throws -> SettingsContext {
        var search = ProfileSearch(explicitPaths: profiles, environment: environment)
        if isMachine { search.userDirectory = nil }
        do {
            let found = try await search.load()
            for warning in found.warnings where warning.code != .untrustedSigner { Console.report("warning: \(warning.message)") }
            return SettingsContext(environment: environment, configurations: found.configurations, isMachine: isMachine)
        } catch {
            throw CommandFailure(error, verbose: false)
        }
    }

    var home: String { environment["HOME"].flatMap { $0.isEmpty ? nil : $0 } ?? NSHomeDirectory() }

    /// `$XDG_CONFIG_HOME` or `~/.config`.
    var settingsFolder: String { folder("XDG_CONFIG_HOME", standard: ".config") }

    /// The record of the settings that this project added to files of others.
    var record: SettingsRecord {
        let state = isMachine ? "/var/lib" : folder("XDG_STATE_HOME", standard: ".local/state")
        return SettingsRecord(path: "\(state)/ksso/settings.json", mode: fileMode)
    }

    /// The record of what root installed for the machine.
    var machineRecord: SettingsRecord { SettingsRecord(path: "/var/lib/ksso/settings.json", mode: AtomicFile.machineMode) }

    /// The mode of new files.
    var fileMode: mode_t? { isMachine ? AtomicFile.machineMode : nil }

    private func folder(_ variable: String, standard: String) -> String {
        environment[variable].flatMap { $0.hasPrefix("/") ? $0 : nil } ?? "\(home)/\(standard)"
    }

    /// Whether one of the programs is in PATH.
    func hasProgram(_ names: String...) -> Bool { hasProgram(names) }

    /// Whether one of the programs is in PATH.
    func hasProgram(_ names: [String]) -> Bool {
        let search = ProgramSearch(path: environment["PATH"])
        return names.contains { search.candidates(for: $0).contains(where: OwnProgram.isExecutable) }
    }

    /// Returns the command that a user runs for settings of this context.
    func command(_ word: String, _ option: String, isMachineWide: Bool) -> String {
        let isForRoot = isMachineWide && geteuid() != 0
        let profiles = isForRoot ? ownProfiles.map { " --profile \(shellWord($0))" }.joined() : ""
        return "\(isForRoot ? "sudo " : "")ksso configure \(word) \(option)\(profiles)\(isOwnAccountOfRoot ? " --user" : "")"
    }

    /// The files of the profiles if some of them are not in the system-wide directory, where root does not find them.
    private var ownProfiles: [String] {
        let sources = configurations.map(\.source).withoutRepetitions
        let directory = ProfileSearch(environment: environment).systemDirectory
        return sources.allSatisfy { $0.hasPrefix("\(directory)/") } ? [] : sources
    }

    /// Returns the marks of a program's lines.
    func marks(_ word: String, comment: String = "#") -> MarkedFile.Marks {
        MarkedFile.Marks(command: "ksso configure \(word)", comment: comment)
    }
}

/// The rules of the profiles' hosts, and what applies to each.
extension SettingsContext {
    /// A rule with the schemes over which its hosts are answered.
    struct AnsweredHosts: Sendable, Hashable {
        let rule: HostRule
        /// Whether the hosts are answered over plain http too.
        let isPlain: Bool
    }

    /// The rules of `Hosts`, and for each part of `PlainHTTPHosts` in them a rule of its own.
    var answeredHosts: [AnsweredHosts] {
        var all: [AnsweredHosts] = []
        for configuration in configurations {
            let plain = Self.common(configuration.plainHTTPHosts, configuration.hosts)
            for rule in configuration.hosts where !plain.contains(where: { $0.covers(rule) }) {
                all.append(AnsweredHosts(rule: rule, isPlain: false))
            }
            all += plain.map { AnsweredHosts(rule: $0, isPlain: true) }
        }
        return all.withoutRepetitions
    }

    /// The hosts to which the user's ticket is delegated if the KDC approves.
    var delegationHosts: [AnsweredHosts] { answered(\.delegationHosts) }

    /// The hosts to which the user's ticket is delegated regardless of the KDC.
    var unconditionalDelegationHosts: [AnsweredHosts] { answered(\.unconditionalDelegationHosts) }

    private func answered(_ list: KeyPath<ExtensionConfiguration, [HostRule]>) -> [AnsweredHosts] {
        configurations.flatMap { configuration in
            let plain = configuration.plainHTTPHosts
            return Self.common(configuration[keyPath: list], configuration.hosts).map { rule in
                AnsweredHosts(rule: rule, isPlain: plain.contains { $0.covers(rule) })
            }
        }.withoutRepetitions
    }

    /// The rules for the hosts that both lists cover. Of two rules that overlap, one covers the other.
    private static func common(_ first: [HostRule], _ second: [HostRule]) -> [HostRule] {
        let inner = first.filter { rule in second.contains { $0.covers(rule) } }
        return (inner + second.filter { rule in first.contains { $0.covers(rule) } }).withoutRepetitions
    }
}

extension Sequence where Element: Hashable {
    /// The elements in order, each once.
    var withoutRepetitions: [Element] {
        var seen: Set<Element> = []
        return filter { seen.insert($0).inserted }
    }
}
