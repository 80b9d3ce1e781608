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
    func install() async throws {
        let changes = try setUp.pendingChanges()
        guard !isGiven, !changes.isEmpty else { return try await setUp.install(enablesUnit: isGiven) }
        guard Console.hasTerminal else {
            return Console.note(
                "The session is not configured, because there is no terminal to ask at. To change its files without a question: "
                    + "ksso setup --yes; to see the changes first: ksso configure session"
            )
        }
        let question = plan(changes) + "\nTo remove these changes later, run: ksso setup --undo\nMake these changes? [Y/n] "
        if await BlockingCall.run({ Self.agrees(to: question) }) { return try await setUp.install() }
        Console.note("The session is not configured. To configure it later: ksso configure session --install")
    }

    /// The changes: each file with its lines.
    private func plan(_ changes: [(file: SessionFile, change: SessionFile.Change)]) -> String {
        var text = "So that all programs of your sessions share the tickets:\n"
        for (file, change) in changes {
            let what =
                switch change {
                case .creation: "create this file"
                case .addition: "append these lines"
                case .replacement: "replace the lines of an earlier ksso"
                }
            text += "\n\(file.path): \(what)\n"
            for line in file.text.split(separator: "\n") { text += "    \(line)\n" }
        }
        if setUp.hasUnits { text += "\n\(SessionSetUp.unit): start it now and with each session (systemctl --user)\n" }
        return text
    }

    /// Asks at the controlling terminal, because standard input and output may be redirected. The end of input means no.
    private static func agrees(to question: String) -> Bool {
        let terminal = open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY)
        guard terminal >= 0 else { return false }
        let handle = FileHandle(fileDescriptor: terminal, closeOnDealloc: true)
        // What was typed before the question is no answer to it.
        tcflush(terminal, TCIFLUSH)
        guard (try? handle.write(contentsOf: Data(question.escapedForDisplay(keepingLines: true, limit: 1 << 20).utf8))) != nil else {
            return false
        }
        // A terminal delivers whole lines. FileHandle would wait for more bytes than one line.
        var line = [UInt8](repeating: 0, count: 4096)
        let count = unsafe read(terminal, &line, line.count)
        guard count > 0 else {
            try? handle.write(contentsOf: Data("\n".utf8))
            return false
        }
        return ["", "y", "yes"].contains(
            String(decoding: line.prefix(count), as: UTF8.self).trimmingCharacters(in: .whitespacesAndNewlines).lowercased()
        )
    }
}
