internal import CommandSupport
internal import Foundation
internal import SystemSupport

/// Prints, installs, checks or removes the settings of one program.
struct SettingsOperation {
    let settings: any ProgramSettings
    let context: SettingsContext

    /// Prints each file with its settings, then the notes as comments.
    func show() throws {
        for file in try settings.files() {
            Console.print("# \(file.path)")
            Console.print(lines: file.text.trimmingCharacters(in: .newlines))
        }
        for note in settings.notes { Console.print("# \(note)") }
    }

    /// Prints what is there, what is missing and what contradicts it.
    func check() async throws {
        let findings = await settings.findings(context)
        for finding in findings {
            let remedy = finding.remedy.map { ": \($0)" } ?? ""
            Console.print("\(finding.kind.rawValue): \(finding.text)\(remedy)")
        }
        if findings.contains(where: { $0.kind != .ok }) { throw CommandFailure(.failed) }
    }

    /// Writes the files. Asks first if a file that contains other settings changes.
    ///
    /// - Parameter isAgreed: Whether the user has agreed in advance.
    func install(isAgreed: Bool) async throws {
        try requireRights("--install")
        try EnclosingRealm.refuseInside(environment: context.environment)
        let files = try settings.files()
        var changes: [(file: any SettingsFile, change: SettingsChange)] = []
        for file in files { if let change = try file.pendingChange() { changes.append((file, change)) } }
        if !isAgreed, try await !agrees(to: changes.filter { $0.file.isShared && $0.change != .creation }) {
            return Console.note("Nothing was changed. To see the settings: ksso configure \(settings.word)")
        }
        for file in files { Console.print("\(file.path): \(try file.install() ? "written" : "up to date")") }
        for note in settings.notes { Console.note(note) }
        if !changes.isEmpty, let text = settings.afterward { Console.note(text) }
        for finding in await settings.contradictions() { Console.report("warning: \(finding.text)") }
    }

    /// Removes what ``install(isAgreed:)`` wrote.
    func uninstall() throws {
        try requireRights("--uninstall")
        try EnclosingRealm.refuseInside(environment: context.environment)
        var isRemoved = false
        for file in try settings.formerFiles() {
            guard let removal = try file.remove() else { continue }
            isRemoved = true
            Console.print("\(file.path): \(removal == .file ? "removed" : "the settings of ksso were removed")")
        }
        if !isRemoved { Console.print("Nothing was removed: \(settings.name) has no settings of ksso.") }
    }

    private func requireRights(_ option: String) throws(CommandFailure) {
        guard settings.isMachineWide, geteuid() != 0 else { return }
        let command = context.command(settings.word, option, isMachineWide: true)
        throw CommandFailure(.failed, "the settings of \(settings.name) apply to every user of the machine. Run: \(command)")
    }

    /// Shows the changes at the terminal, and asks whether to make them.
    private func agrees(to changes: [(file: any SettingsFile, change: SettingsChange)]) async throws -> Bool {
        guard !changes.isEmpty else { return true }
        func command(_ option: String) -> String { context.command(settings.word, option, isMachineWide: settings.isMachineWide) }
        guard Console.hasTerminal else {
            let files = changes.map(\.file.path).joined(separator: ", ")
            throw CommandFailure(
                .notInteractive,
                "\(files): not changed, because there is no terminal to ask at. To change it without a question: \(command("--install --yes"))"
            )
        }
        var text = ""
        for (file, change) in changes { text += "\n\(file.path): \(file.clause(change))\n\(file.indentedText)" }
        let question = "\(text)\nTo remove these changes later, run: \(command("--uninstall"))\nMake these changes? [Y/n] "
        return await BlockingCall.run { TerminalQuestion.agrees(to: question) }
    }
}
