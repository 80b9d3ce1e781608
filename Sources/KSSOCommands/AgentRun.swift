internal import ArgumentParser
internal import Foundation
internal import KerberosEngine
internal import KerberosSSO
internal import SSOAgent
internal import SSOAgentClient

struct AgentRun: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "run",
        abstract: "Keep the tickets, renew them, and answer for programs that ask, until stopped.",
        discussion: """
            Programs that ksso exec, ksso env or the session's set-up start then have their tickets here; ksso login fills them. The sockets are \
            taken from systemd where it hands them over.
            """
    )

    @Flag(help: "Leave the tickets in the system's default cache; only renew them and answer from them.")
    var system = false
    @Flag(help: "Only keep the tickets, of every user of this machine, at the socket where all programs look for them.")
    var machine = false
    @Option(help: ArgumentHelp("The socket of --machine; by default \(MachineCache.standardSocket).", valueName: "path"))
    var socket: String?
    @Option(
        help: ArgumentHelp(
            "Keep the tickets in this private folder, so that they outlive a restart of the machine; by default in the runtime folder.",
            valueName: "folder"
        )
    )
    var tickets: String?
    @Option(help: ArgumentHelp("Sign in with a key of this keytab, and again when the ticket ends.", valueName: "file"))
    var keytab: String?
    @Option(help: "Whose key of the keytab; by default the first one's.")
    var principal: String?
    @Option(help: "End when nobody has needed the agent for so long, such as 1h. The tickets stay for the next one.")
    var idleExit: Lifetime?
    @Option(
        help: ArgumentHelp(
            """
            Ask by this pinentry program for the password that a program's request needs; by default pinentry, where there is a display \
            or GPG_TTY names a terminal. One that draws no window asks on that terminal.
            """,
            valueName: "program"
        )
    )
    var pinentry: String?
    @Flag(help: "Start it beside, and return when it serves.")
    var background = false
    @OptionGroup var common: CommonOptions

    func validate() throws {
        if principal != nil, keytab == nil { throw ValidationError("--principal names a key of --keytab.") }
        if socket != nil, !machine { throw ValidationError("--socket is the one of --machine.") }
        if machine, system || keytab != nil || idleExit != nil || pinentry != nil || background || !common.profile.isEmpty {
            throw ValidationError("--machine knows --socket and --tickets alone: it signs nobody in and reads no profile.")
        }
        if system, tickets != nil { throw ValidationError("--system keeps no tickets: it excludes --tickets.") }
    }

    func run() async throws {
        do {
            if machine {
                harden()
                return try await serveMachine()
            }
            let runtime = RuntimeDirectory(environment: ProcessInfo.processInfo.environment)
            try runtime.makePrivate()
            try checkKeytab()
            if let pinentry, PinentryPrompter.path(of: pinentry, environment: ProcessInfo.processInfo.environment) == nil {
                throw CommandFailure(.failed, "\(pinentry): there is no such program. Give --pinentry the path of one.")
            }
            if background {
                guard !runtime.isServed else {
                    throw await alreadyRunning(runtime, "an agent runs already in \(runtime.path). See: ksso agent status")
                }
                let signIn = try BackgroundAgent(runtime: runtime).start(waitingForSignIn: keytab != nil)
                Console.print("The agent serves in \(runtime.path). Stop it with: ksso agent stop")
                switch signIn {
                case .done(let sentence): Console.print(sentence)
                case .failed(let sentence): Console.report(sentence)
                case .unknown where keytab != nil: Console.note("No KDC has answered the sign-in with the keytab yet. See: ksso status")
                case .unknown: break
                }
                return
            }
            do {
                try await serve(runtime)
            } catch let error as AgentError where error.code == .alreadyRunning {
                throw await alreadyRunning(runtime, error.description)
            }
        } catch let error as AgentError {
            throw CommandFailure(.failed, error.description)
        } catch {
            throw CommandFailure(error, verbose: common.isVerbose)
        }
    }

    private func checkKeytab() throws(CommandFailure) {
        guard let keytab else { return }
        guard let path = KeytabName.path(keytab) else {
            throw CommandFailure(.usage, "--keytab \(keytab): a keytab is a file: a path, or FILE: and a path.")
        }
        guard access(path, R_OK) == 0 else {
            throw CommandFailure(.failed, "\(path): the keytab can't be read: \(String(cString: strerror(errno))).")
        }
    }

    /// What to say where an agent runs already: the sentence, or that it does not answer.
    private func alreadyRunning(_ runtime: RuntimeDirectory, _ sentence: String) async -> CommandFailure {
        guard let listener = await RunningAgent(runtime).silent() else { return CommandFailure(.failed, sentence) }
        return CommandFailure(.failed, "an agent runs already in \(runtime.path): \(listener.silence)")
    }

    private func harden() {
        Self.wipeFreedMemory()
        ProcessProtection.forbidDumps()
        ProcessProtection.raiseFileLimit()
        // Who started the agent may be gone, and with it the reader of its errors.
        signal(SIGPIPE, SIG_IGN)
    }

    private func serve(_ runtime: RuntimeDirectory) async throws {
        harden()
        let environment = ProcessInfo.processInfo.environment
        setenv("KRB5_CONFIG", KerberosConfigurationFile.searchPath(runtime.sessionConfiguration, environment: environment), 1)
        let agent = Agent(options(runtime, environment: environment))
        let hasTerminal = Self.hasTerminal
        try await SignalWait.untilSignal { signals in
            try await agent.run(until: {
                // A terminal that is gone ends what was started on it; others are told by this signal to read their settings again.
                while await signals.next() == SIGHUP, !hasTerminal { agent.readProfilesAgain() }
            })
        }
    }

    private func options(_ runtime: RuntimeDirectory, environment: [String: String]) -> AgentOptions {
        let asking = AgentPrompter(program: pinentry, environment: environment)
        var options = common.agentOptions(runtime, system: system, asking: asking, environment: environment)
        options.ticketDirectory = tickets
        options.idleExit = idleExit?.duration
        options.keytab = keytab.map { AgentOptions.Keytab(path: KeytabName.path($0) ?? $0, principal: principal) }
        options.systemConfiguration = KerberosConfigurationFile.systemFiles(environment: environment)
        options.logFile = Self.logFile
        return options
    }

    private static var hasTerminal: Bool {
        let descriptor = open("/dev/tty", O_RDONLY | O_NOCTTY | O_CLOEXEC)
        defer { if descriptor >= 0 { close(descriptor) } }
        return descriptor >= 0
    }

    /// Where standard error leads, if that is a file.
    private static var logFile: String? {
        var status = stat()
        guard fstat(STDERR_FILENO, &status) == 0, status.st_mode & S_IFMT == S_IFREG else { return nil }
        return try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/\(STDERR_FILENO)")
    }

    /// glibc reads its settings before a program begins: so this one begins once more, with the same process number.
    private static func wipeFreedMemory() {
        var environment = ProcessInfo.processInfo.environment
        let (name, value) = ProcessProtection.wipingVariable
        let given = environment[name] ?? ""
        guard !given.hasSuffix(value) else { return }
        // The last one counts.
        environment[name] = given.isEmpty ? value : "\(given):\(value)"
        // Where that fails the agent works all the same.
        _ = ProcessReplacement(path: "/proc/self/exe", arguments: CommandLine.arguments, environment: environment).begin()
    }
}
