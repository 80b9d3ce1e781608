internal import Foundation
public import Kerberos
internal import Synchronization

/// Asks on the terminal that controls the process, `/dev/tty`: standard input and output may be redirected.
///
/// A hidden answer is not echoed. The terminal is as before on every way out: an answer, Ctrl-C, Ctrl-\, a signal from outside; and
/// while the process is stopped by Ctrl-Z, after which the question is asked again.
public struct TerminalPrompter: Prompter {
    /// One question at a time in a process: two on one terminal would mix their answers.
    private static let turn = Mutex(())
    /// Whose turn it is.
    private static let open = Mutex<PromptRequest.ID?>(nil)

    /// A prompter for the controlling terminal.
    public init() {}

    /// Asks each question in turn. Throws `PromptRefusal.notInteractive` when the process has no terminal.
    public func answers(to request: PromptRequest) throws -> [Secret] {
        let result = Self.turn.withLock { _ in
            Result {
                Self.open.withLock { $0 = request.id }
                defer { Self.open.withLock { $0 = nil } }
                // It may have been called off while another one was open.
                guard !request.isCanceled else { throw PromptRefusal.canceled }
                return try ask(request)
            }
        }
        return try result.get()
    }

    /// Ends the question, if it is open; the terminal is restored.
    public func cancel(_ request: PromptRequest) {
        Self.open.withLock { if $0 == request.id { SignalWatch.cancel() } }
    }

    private func ask(_ request: PromptRequest) throws -> [Secret] {
        let terminal = try Terminal()
        if let banner = request.banner, !banner.isEmpty { terminal.write("\(banner.escapedForDisplay(keepingLines: true))\n") }
        return try request.prompts.map { prompt in
            try terminal.ask("\(prompt.text.escapedForDisplay()): ", isHidden: prompt.isHidden)
        }
    }
}

extension Prompter where Self == TerminalPrompter {
    /// Asks on the terminal that controls the process.
    public static var terminal: TerminalPrompter { TerminalPrompter() }
}
