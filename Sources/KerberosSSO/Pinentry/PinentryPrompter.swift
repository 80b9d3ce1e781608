public import Foundation
public import Kerberos
internal import Synchronization
internal import SystemSupport

/// Prompts in a window or on a given terminal, using one of GnuPG's pinentry programs. Intended for processes without a terminal, such as
/// an agent.
///
/// The program runs once per request for answers. Nothing secret is sent to it, and what is typed is read through a socket (the Assuan
/// protocol).
public struct PinentryPrompter: Prompter {
    private let program: String
    private let options: [(name: String, value: String)]
    private let environment: [String: String]
    private let terminal: String?
    private let running = RunningPrograms()
    private let faults: PinentryFaults

    /// How long a prompt stays open.
    private static let patience = Duration.seconds(300)
    /// How much longer the program may take to report that no one answered.
    private static let delay = Duration.seconds(10)

    /// Creates a prompter that uses a program.
    ///
    /// - Parameters:
    ///   - program: The program's path, or a name that is looked up in `PATH` of the environment.
    ///   - terminal: The terminal to prompt on, such as `/dev/pts/3`, for a program without windows.
    ///   - environment: The program's complete environment, with the variables that select display and language: `DISPLAY`,
    ///     `WAYLAND_DISPLAY`, `TERM`, `LC_ALL`, `LANG`.
    ///   - report: Receives a line that says why prompting fails and what to do, and nil when a prompt succeeds again. Each fault is
    ///     reported once, on the thread that prompts.
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

    /// Shows one prompt after the other.
    ///
    /// - Throws: `PromptRefusal`; `canceled` if the person cancels or does not answer within five minutes, `notInteractive` if the program
    ///   cannot be run or has no place to prompt.
    public func answers(to request: PromptRequest) throws -> [Secret] {
        guard let path = Self.path(of: program, environment: environment) else {
            faults.note(
                "\(program): there is no such program. Install a pinentry of GnuPG, or specify one with: "
                    + "ksso agent run --pinentry PROGRAM"
            )
            throw PromptRefusal.notInteractive
        }
        var dialogue: AssuanDialogue
        do {
            dialogue = try running.start(path, environment: environment, for: request)
        } catch {
            if error == .notInteractive { faults.note("\(path): the program cannot be run. Test it with: \(path) --version") }
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
        // A program may not know an option, which does not matter.
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

    /// The sentence that reports a program's fault.
    private func sentence(_ fault: AssuanDialogue.Fault, _ path: String) -> String {
        guard Self.hasPlace(terminal: terminal, environment: environment) else { return "\(path) cannot prompt: \(Self.missingPlace)" }
        let place = terminal.map { "on the terminal \($0)" } ?? "in a window"
        return switch fault {
        case .endedAtOnce: "\(path) exited before it prompted. Test it with: \(path) </dev/null; it should print OK."
        case .ended: "\(path) exited during the prompt. Test it with: echo GETPIN | \(path)"
        case .silent: "\(path) did not answer for a minute. Test it with: \(path) </dev/null; it should print OK."
        case .refused(let code):
            "\(path) cannot prompt \(place) (libgpg-error \(code)). Check that the agent's DISPLAY or GPG_TTY names an open one of yours."
        }
    }

    /// What to do if there is neither a terminal nor a display.
    package static let missingPlace =
        "there is neither a terminal nor a display. Set GPG_TTY or DISPLAY, and restart the agent: export GPG_TTY=$(tty); "
        + "ksso agent stop; ksso agent run --background"

    /// Whether there is a terminal or a display.
    package static func hasPlace(terminal: String?, environment: [String: String]) -> Bool {
        terminal?.isEmpty == false || ["DISPLAY", "WAYLAND_DISPLAY"].contains { environment[$0]?.isEmpty == false }
    }

    /// Cancels the prompts of this request, and terminates their program.
    public func cancel(_ request: PromptRequest) { running.cancel(request) }

    /// The path of a program; nil if it does not exist.
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
    /// Prompts with the machine's default pinentry program.
    public static var pinentry: PinentryPrompter { PinentryPrompter() }
}

/// Reports why prompting fails, once when a fault begins and once when it ends, not for every prompt.
final class PinentryFaults: Sendable {
    private let report: @Sendable (String?) -> Void
    private let last = Mutex<String?>(nil)

    init(_ report: @escaping @Sendable (String?) -> Void) { self.report = report }

    /// Records that a prompt failed.
    func note(_ sentence: String) {
        guard last.withLock({ last in exchange(&last, sentence) }) else { return }
        report(sentence)
    }

    /// Records that a prompt was shown.
    func forget() {
        guard last.withLock({ last in exchange(&last, nil) }) else { return }
        report(nil)
    }

    /// Stores the sentence and returns whether it differs from the last one.
    private func exchange(_ last: inout String?, _ sentence: String?) -> Bool {
        defer { last = sentence }
        return last != sentence
    }
}

/// The programs that are prompting, so that another thread can terminate them.
final class RunningPrograms: Sendable {
    private let programs = Mutex<[PromptRequest.ID: ChildProgram]>([:])

    /// Starts a program that speaks the Assuan protocol on its standard input and output.
    ///
    /// - Throws: `PromptRefusal`; `canceled` if the request has been canceled.
    func start(_ program: String, environment: [String: String], for request: PromptRequest) throws(PromptRefusal) -> AssuanDialogue {
        // The lock is held, so that a later cancellation finds the process.
        try programs.withLock { programs throws(PromptRefusal) in
            guard !request.isCanceled else { throw .canceled }
            let dialogue = try AssuanDialogue(program, environment: environment)
            programs[request.id] = dialogue.child
            return dialogue
        }
    }

    /// Terminates a program and waits until it exits.
    func end(_ dialogue: inout AssuanDialogue, of request: PromptRequest) {
        // After the program has exited, its process ID and descriptor may be reused.
        programs.withLock { _ = $0.removeValue(forKey: request.id) }
        dialogue.end()
    }

    /// Terminates the program of a request. Its dialogue reads the end of the output, even if the program ignores the signal.
    func cancel(_ request: PromptRequest) {
        programs.withLock { programs in
            guard let program = programs[request.id] else { return }
            kill(program.process, SIGTERM)
            shutdown(program.connection, Int32(SHUT_RDWR))
        }
    }
}
