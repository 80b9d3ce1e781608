internal import CommandSupport
internal import Foundation
internal import SystemSupport

/// The consent of the user to the changes that configure the session: asked for at the terminal, after the changes are shown there.
struct SessionConsent {
    private let setUp: SessionSetUp
    private let isGiven: Bool

    /// - Parameter isGiven: Whether the user has agreed in advance.
    init(_ setUp: SessionSetUp, isGiven: Bool) {
        self.setUp = setUp
        self.isGiven = isGiven
    }

    /// Configures the session if the user agrees or no file has to change. Otherwise prints to standard error how to do it later.
    /// Does nothing if the machine's cache server keeps the tickets of all sessions.
    func install() async throws {
        if await setUp.usesMachineCache(), !setUp.hasLines {
            return Console.note(
                "The session needs no configuration, because a cache server of this machine keeps the tickets of all sessions. "
                    + "To use an agent with caches of its own anyway: ksso configure session --install"
            )
        }
        let changes = try setUp.pendingChanges()
        guard !isGiven, !changes.isEmpty else { return try await setUp.install(enablesUnit: isGiven) }
        guard Console.hasTerminal else {
            return Console.note(
                "The session is not configured, because there is no terminal to ask at. To change its files without a question: "
                    + "ksso setup --yes; to see the changes first: ksso configure session"
            )
        }
        let question = plan(changes) + "\nTo remove these changes later, run: ksso setup --undo\nMake these changes? [Y/n] "
        if await BlockingCall.run({ TerminalQuestion.agrees(to: question) }) { return try await setUp.install() }
        Console.note("The session is not configured. To configure it later: ksso configure session --install")
    }

    /// The changes: each file with its lines.
    private func plan(_ changes: [(file: MarkedFile, change: SettingsChange)]) -> String {
        var text = "So that all programs of your sessions share the tickets:\n"
        for (file, change) in changes {
            text += "\n\(file.path): \(change)\n"
            text += file.indentedText
        }
        if setUp.hasUnits { text += "\n\(SessionSetUp.unit): start it now and with each session (systemctl --user)\n" }
        return text
    }
}
