public import Foundation
public import Kerberos
internal import Synchronization

/// Asks in a window of its own, or on a named terminal, by one of GnuPG's pinentry programs: for processes without a terminal, such as an
/// agent.
///
/// The program is run for each sign-in and ends with it. It gets no secret; what is typed into it comes by a pipe (the Assuan protocol).
public struct PinentryPrompter: Prompter {
    private let program: String
    private let options: [(name: String, value: String)]
    private let environment: [String: String]
    private let terminal: String?
    private let running = RunningPrograms()
    private let faults: PinentryFaults

    /// How long a question stays open.
    private static let patience = Duration.seconds(300)
    /// How long the program may take to say that nobody answered.
    private static let delay = Duration.seconds(10)

    /// A prompter by a program.
    ///
    /// - Parameters:
    ///   - program: its path, or a name that `PATH` of the environment leads to.
    ///   - terminal: the terminal to ask on, such as `/dev/pts/3`, for a program that draws no window.
    ///   - environment: the program's variables, all of them. They say where windows go and in which language: `DISPLAY`,
    ///     `WAYLAND_DISPLAY`, `TERM`, `LC_ALL`, `LANG`.
    ///   - report: gets a line that says why no question can be put, and what to do; nil when one was put again. Each is told once. It is
    ///     called on the thread that asks.
    public init(
        program: String = "pinentry",
        terminal: String? = nil,
        environment: [String: String] = ProcessInfo.processInfo.environment,
        report: @escaping @Sendable (_ fault: String?) -> Void = { _ in }
    ) {
        self.program = program
        self.terminal = terminal
        faults = PinentryFaults(report)
        self.environment = environment
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
        guard let path = Self.path(of: program, environment: environment) else {
            faults.note("\(program): there is no such program. Install one of GnuPG's, or name one with: ksso agent run --pinentry PROGRAM")
            throw PromptRefusal.notInteractive
        }
        var dialogue: AssuanDialogue
        do {
            dialogue = try running.start(path, environment: environment, for: request)
        } catch {
            if error == .notInteractive { faults.note("\(path): the program can't be run. Try it: \(path) --version") }
            throw error
        }
        defer { running.end(&dialogue, of: request) }
        do {
            let answers = try ask(request, &dialogue)
            faults.forget()
            return answers
        } catch {
            guard !request.isCanceled else { throw PromptRefusal.canceled }
            if let fault = dialogue.fault { faults.note(sentence(fault, path)) } else { faults.forget() }
            throw error
        }
    }

    private func ask(_ request: PromptRequest, _ dialogue: inout AssuanDialogue) throws(PromptRefusal) -> [Secret] {
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
            answers.append(try dialogue.secret(within: Self.patience + Self.delay))
        }
        return answers
    }

    /// What to say of a program that does not ask.
    private func sentence(_ fault: AssuanDialogue.Fault, _ path: String) -> String {
        guard Self.hasPlace(terminal: terminal, environment: environment) else { return "\(path) can't ask: \(Self.missingPlace)" }
        let place = terminal.map { "on the terminal \($0)" } ?? "in a window"
        return switch fault {
        case .endedAtOnce: "\(path) ended before it asked. Try it: \(path) </dev/null; it should print OK."
        case .ended: "\(path) ended in the midst of the question. Try it: echo GETPIN | \(path)"
        case .silent: "\(path) said nothing for a minute. Try it: \(path) </dev/null; it should print OK."
        case .refused(let code):
            "\(path) can't ask \(place) (libgpg-error \(code)). See that DISPLAY or GPG_TTY of the agent names one of yours that is open."
        }
    }

    /// What to do where there is nowhere to ask.
    package static let missingPlace =
        "there is neither a terminal nor a display. Set GPG_TTY or DISPLAY, and start the agent anew: export GPG_TTY=$(tty); "
        + "ksso agent stop; ksso agent run --background"

    /// Whether there is a terminal, or a display for a window.
    package static func hasPlace(terminal: String?, environment: [String: String]) -> Bool {
        terminal?.isEmpty == false || ["DISPLAY", "WAYLAND_DISPLAY"].contains { environment[$0]?.isEmpty == false }
    }

    /// Ends the questions of this request, and the program that asks them.
    public func cancel(_ request: PromptRequest) { running.cancel(request) }

    /// Where a program is; nil where there is none of the name.
    package static func path(of program: String, environment: [String: String]) -> String? {
        func isProgram(_ path: String) -> Bool {
            let url = URL(filePath: path).resolvingSymlinksInPath()
            let isFile = (try? url.resourceValues(forKeys: [.isRegularFileKey]))?.isRegularFile == true
            return isFile && FileManager.default.isExecutableFile(atPath: path)
        }
        guard !program.contains("/") else { return isProgram(program) ? program : nil }
        let folders = (environment["PATH"] ?? "/usr/local/bin:/usr/bin:/bin").split(separator: ":")
        return folders.lazy.map { "\($0)/\(program)" }.first(where: isProgram)
    }

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

/// Why no question can be put: told when it begins and when it ends, and not again for each that waits.
final class PinentryFaults: Sendable {
    private let report: @Sendable (String?) -> Void
    private let last = Mutex<String?>(nil)

    init(_ report: @escaping @Sendable (String?) -> Void) { self.report = report }

    /// A question could not be put.
    func note(_ sentence: String) {
        guard last.withLock({ last in exchange(&last, sentence) }) else { return }
        report(sentence)
    }

    /// A question was put.
    func forget() {
        guard last.withLock({ last in exchange(&last, nil) }) else { return }
        report(nil)
    }

    /// Whether it was another one.
    private func exchange(_ last: inout String?, _ sentence: String?) -> Bool {
        defer { last = sentence }
        return last != sentence
    }
}

/// The programs that ask now, so that another thread can end one.
final class RunningPrograms: Sendable {
    private let programs = Mutex<[PromptRequest.ID: ChildProgram]>([:])

    /// Starts a program that speaks the Assuan protocol with its standard input and output.
    ///
    /// - Throws: `PromptRefusal`; `canceled` where the request has been called off.
    func start(_ program: String, environment: [String: String], for request: PromptRequest) throws(PromptRefusal) -> AssuanDialogue {
        // Under the lock, so that whoever calls it off from here on finds the process.
        try programs.withLock { programs throws(PromptRefusal) in
            guard !request.isCanceled else { throw .canceled }
            let dialogue = try AssuanDialogue(program, environment: environment)
            programs[request.id] = dialogue.child
            return dialogue
        }
    }

    /// Ends a program, and waits for its end.
    func end(_ dialogue: inout AssuanDialogue, of request: PromptRequest) {
        // From here on the numbers may be another's.
        programs.withLock { _ = $0.removeValue(forKey: request.id) }
        dialogue.end()
    }

    /// Ends the one that asks this. What talks to it sees the end of its output, whether or not the program heeds the signal.
    func cancel(_ request: PromptRequest) {
        programs.withLock { programs in
            guard let program = programs[request.id] else { return }
            kill(program.process, SIGTERM)
            shutdown(program.connection, Int32(SHUT_RDWR))
        }
    }
}
