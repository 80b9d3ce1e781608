public import Foundation
public import Kerberos

/// Asks in a window of its own, or on a named terminal, by one of GnuPG's pinentry programs: for processes without a terminal, such as an
/// agent.
///
/// The program is run for each sign-in and ends with it. It gets no secret; what is typed into it comes by a pipe (the Assuan protocol).
public struct PinentryPrompter: Prompter {
    private let program: String
    private let options: [(name: String, value: String)]
    private let running = RunningPrograms()

    /// How long a question stays open.
    private static let patience = Duration.seconds(300)

    /// A prompter by a program.
    ///
    /// - Parameters:
    ///   - program: its path, or a name that `PATH` leads to.
    ///   - terminal: the terminal to ask on, such as `/dev/pts/3`, for a program that draws no window.
    ///   - environment: variables that say where windows go and in which language: `DISPLAY`, `WAYLAND_DISPLAY`, `TERM`, `LC_ALL`, `LANG`.
    public init(
        program: String = "pinentry",
        terminal: String? = nil,
        environment: [String: String] = ProcessInfo.processInfo.environment
    ) {
        self.program = program
        var options: [(String, String)] = []
        if let terminal { options += [("ttyname", terminal), ("ttytype", environment["TERM"] ?? "vt100")] }
        if let display = environment["DISPLAY"] { options.append(("display", display)) }
        if let locale = environment["LC_ALL"] ?? environment["LC_CTYPE"] ?? environment["LANG"] { options.append(("lc-ctype", locale)) }
        self.options = options
    }

    /// Asks each question in turn.
    ///
    /// - Throws: `PromptRefusal`; `canceled` when the person gives up or does not answer within five minutes, `notInteractive` when the
    ///   program can't be run or has no place to ask.
    public func answers(to request: PromptRequest) throws -> [Secret] {
        var dialogue = try running.start(program)
        defer { running.end(&dialogue) }
        try dialogue.begin()
        // One that a program does not know is no loss.
        for (name, value) in options { _ = try dialogue.request("OPTION", "\(name)=\(value)") }
        _ = try dialogue.request("SETTITLE", "Kerberos")
        _ = try dialogue.request("SETTIMEOUT", "\(Self.patience.components.seconds)")
        var answers: [Secret] = []
        for prompt in request.prompts {
            let description = [request.banner ?? "", prompt.text].filter { !$0.isEmpty }.joined(separator: "\n")
            _ = try dialogue.request("SETDESC", description.escapedForDisplay(keepingLines: true))
            _ = try dialogue.request("SETPROMPT", Self.label(of: prompt))
            answers.append(try dialogue.secret())
        }
        return answers
    }

    /// Ends the questions that are open, and the programs that ask them.
    public func cancel() { running.cancel() }

    private static func label(of prompt: PromptRequest.Prompt) -> String {
        switch prompt.kind {
        case .password: "Password:"
        case .newPassword: "New password:"
        case .newPasswordAgain: "Again:"
        case .preauthentication: "Code or PIN:"
        case .other: "Answer:"
        }
    }
}

extension Prompter where Self == PinentryPrompter {
    /// Asks in a window, by the pinentry program that the machine prefers.
    public static var pinentry: PinentryPrompter { PinentryPrompter() }
}
