internal import Foundation
public import Kerberos

/// Asks on the terminal that controls the process, `/dev/tty`: standard input and output may be redirected.
///
/// A hidden answer is not echoed. The terminal is as before on every way out: an answer, Ctrl-C, Ctrl-\, a signal from outside; and
/// while the process is stopped by Ctrl-Z, after which the question is asked again.
public struct TerminalPrompter: Prompter {
    /// A prompter for the controlling terminal.
    public init() {}

    /// Asks each question in turn. Throws `PromptRefusal/notInteractive` when the process has no terminal.
    public func answers(to request: PromptRequest) throws -> [Secret] {
        let terminal = try Terminal()
        if let banner = request.banner, !banner.isEmpty { terminal.write("\(banner)\n") }
        return try request.prompts.map { prompt in
            try terminal.ask("\(prompt.text): ", isHidden: prompt.isHidden)
        }
    }
}

extension Prompter where Self == TerminalPrompter {
    /// Asks on the terminal that controls the process.
    public static var terminal: TerminalPrompter { TerminalPrompter() }
}
