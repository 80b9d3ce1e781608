internal import CommandSupport
internal import Foundation
internal import SignOnPolicy

/// The settings that a program needs for the profile's hosts or for the local proxy: where they belong, and what is there.
///
/// `ksso configure` prints, installs, checks and removes them; `ksso doctor` uses the same check for one host.
protocol ProgramSettings: Sendable {
    /// The program's name for messages, such as `git`.
    var name: String { get }
    /// The subcommand of `ksso configure`.
    var word: String { get }
    /// Whether only root can install them.
    var isMachineWide: Bool { get }
    /// The files that ``SettingsFile/install()`` changes, in order.
    func files() throws(CommandFailure) -> [any SettingsFile]
    /// Every file that an earlier installation may have changed.
    func formerFiles() throws(CommandFailure) -> [any SettingsFile]
    /// What these settings do not cover, a sentence each.
    var notes: [String] { get }
    /// What the program does differently because of other settings; the files of ``files()`` are not examined.
    func contradictions() async -> [SettingsFinding]
    /// Where the settings are if the files of ``files()`` do not need them, because other files of the program have them.
    func otherPlace() async -> String?
    /// What to do after a change; nil if nothing.
    var afterward: String? { get }
}

/// The settings of a program that makes its own tokens.
protocol SignOnSettings: ProgramSettings {
    /// Whether the program is on this machine.
    var isInstalled: Bool { get }
    /// Returns why the program sends no ticket to an origin, as a sentence, and the command that helps; nil if its settings allow it.
    func refusal(of origin: Origin) async -> SettingsFinding?
}

extension ProgramSettings {
    var isMachineWide: Bool { false }
    var notes: [String] { [] }
    var afterward: String? { nil }
    func formerFiles() throws(CommandFailure) -> [any SettingsFile] { try files() }
    func contradictions() async -> [SettingsFinding] { [] }
    func otherPlace() async -> String? { nil }

    /// Compares what is there with what the profile requires.
    func findings(_ context: SettingsContext) async -> [SettingsFinding] {
        let command = context.command(word, "--install", isMachineWide: isMachineWide)
        var findings: [SettingsFinding] = []
        do {
            for file in try files() {
                do {
                    switch try file.pendingChange() {
                    case nil: findings.append(SettingsFinding(.ok, file.path))
                    case .replacement:
                        findings.append(SettingsFinding(.outdated, "\(file.path) is of an earlier profile", remedy: command))
                    case .creation, .addition:
                        let place = await otherPlace()
                        let missing = SettingsFinding(.missing, file.missingText, remedy: command)
                        findings.append(place.map { SettingsFinding(.ok, $0) } ?? missing)
                    }
                } catch {
                    findings.append(SettingsFinding(.contradicts, error.message))
                }
            }
        } catch {
            findings.append(SettingsFinding(.contradicts, error.message))
        }
        return findings + (await contradictions())
    }
}

/// A file with settings of this project, which may also contain other settings.
protocol SettingsFile: Sendable {
    var path: String { get }
    /// The settings of this project, as a person reads them.
    var text: String { get }
    /// What ``install()`` of this or an earlier program wrote and is still there; nil if nothing is.
    var installedText: String? { get }
    /// Whether the file may also contain other settings.
    var isShared: Bool { get }
    /// What `--check` reports if the settings are not there.
    var missingText: String { get }
    /// Returns a clause that says what a change does.
    func clause(_ change: SettingsChange) -> String
    /// What ``install()`` would do; nil if the settings are there.
    ///
    /// - Throws: `CommandFailure` if a setting of others is in the way, or the file cannot be read.
    func pendingChange() throws(CommandFailure) -> SettingsChange?
    /// Writes the settings, and keeps the other settings of the file.
    ///
    /// - Returns: False if they were already there.
    func install() throws(CommandFailure) -> Bool
    /// Removes what ``install()`` wrote, and the file if nothing else is in it.
    ///
    /// - Returns: What was removed; nil if there was nothing.
    func remove() throws(CommandFailure) -> SettingsRemoval?
}

extension SettingsFile {
    var missingText: String { path }
    func clause(_ change: SettingsChange) -> String { "\(change)" }

    /// The text with indented lines.
    var indentedText: String { text.split(separator: "\n").map { "    \($0)\n" }.joined() }
}

/// What an installation does to a file.
enum SettingsChange: CustomStringConvertible {
    /// Creates the file.
    case creation
    /// Adds the settings to a file of others.
    case addition
    /// Replaces older settings of this project.
    case replacement

    /// A clause that says what is done, followed by the lines.
    var description: String {
        switch self {
        case .creation: "create this file"
        case .addition: "append these lines"
        case .replacement: "replace the lines of an earlier ksso"
        }
    }
}

/// What was removed from a file.
enum SettingsRemoval {
    case file
    case settings
}

/// One result of a comparison of a program's settings with the profile.
struct SettingsFinding: Sendable, Equatable {
    enum Kind: String, Sendable {
        case ok
        case missing
        case outdated
        /// A setting of others makes the program do something else.
        case contradicts
    }

    let kind: Kind
    let text: String
    /// The command that helps; nil if the text says what to do.
    let remedy: String?

    init(_ kind: Kind, _ text: String, remedy: String? = nil) {
        self.kind = kind
        self.text = text
        self.remedy = remedy
    }
}
