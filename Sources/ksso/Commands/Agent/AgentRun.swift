internal import ArgumentParser
internal import CommandSupport
internal import Foundation
internal import KerberosEngine
internal import KerberosSSO
internal import SSOAgent
internal import SSOAgentClient
internal import SystemSupport

struct AgentRun: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "run",
        abstract: "Keep tickets, renew them, and answer the requests of programs until stopped.",
        discussion: """
            Programs started by ksso exec, with the variables of ksso env or in a configured session share the agent's tickets; ksso login \
            acquires them. If systemd passes the sockets to the agent, the agent uses those.

            EXAMPLES:
              ksso agent run --background
              ksso agent run --keytab /etc/app.keytab --principal app@CORP.EXAMPLE
            """
    )

    @Flag(help: "Leave the tickets in the system's default cache; only renew them and answer requests with them.")
    var system = false
    @Flag(help: "Only store tickets, for every user of this machine, at the socket where all programs look for them.")
    var machine = false
    @Option(
        help: ArgumentHelp("The socket for --machine; by default \(MachineCache.standardSocket).", valueName: "path"),
        completion: .file()
    )
    var socket: String?
    @Option(
        help: ArgumentHelp(
            "Store the tickets in this private folder, so that they survive a restart of the machine; by default in the runtime folder.",
            valueName: "folder"
        ),
        completion: .directory
    )
    var tickets: String?
    @Option(help: ArgumentHelp("Limit each user to this many credential caches; by default 64.", valueName: "number"))
    var maxCaches: Int?
    @Option(
        help: ArgumentHelp("Sign in with a key from this keytab, and again when the ticket expires.", valueName: "file"),
        completion: .file()
    )
    var keytab: String?
    @Option(help: "Use this principal's key from the keytab; by default the first one's.", completion: .principal)
    var principal: String?
    @Option(
        help: "Exit after this much idle time, such as 1h. Tickets are kept for the next start.",
        transform: Lifetime.option
    )
    var idleExit: Lifetime?
    @Option(
        help: ArgumentHelp(
            """
            Use this pinentry program to prompt for the password or PIN that a program's request or an inserted smart card requires; by \
            default pinentry, if there is a display or GPG_TTY names a terminal. A pinentry without a window prompts on that terminal.
            """,
            valueName: "program"
        ),
        completion: .file()
    )
    var pinentry: String?
    @Option(
        help: ArgumentHelp(
            """
            Run this program when a session begins, is renewed, ends, or cannot be renewed. The event is described by KSSO_EVENT (new, \
            renewed, destroyed, failed), KSSO_PRINCIPAL, KSSO_CACHE and other variables: see ksso(1).
            """,
            valueName: "program"
        ),
        completion: .file()
    )
    var onEvent: String?
    @Option(
        help: ArgumentHelp("Kill the program of --on-event and its children after this time; by default 30s.", valueName: "time"),
        transform: Lifetime.option
    )
    var eventTimeout: Lifetime?
    @Option(
        help: ArgumentHelp(
            "Remove a credential cache this long after its last ticket can no longer be used or renewed; `never` keeps it. "
                + "Give a unit, such as 12h. Default: 7d.",
            valueName: "time"
        ),
        transform: ExpiredPeriod.option
    )
    var keepExpired: ExpiredPeriod?
    @Flag(help: "Start the agent in the background, and exit when it is ready.")
    var background = false
    @OptionGroup var common: CommonOptions

    func validate() throws {
        if principal != nil, keytab == nil { throw ValidationError("--principal requires --keytab.") }
        if socket != nil, !machine { throw ValidationError("--socket requires --machine.") }
        if eventTimeout != nil, onEvent == nil { throw ValidationError("--event-timeout requires --on-event.") }
        let signsIn = system || keytab != nil || idleExit != nil || pinentry != nil || onEvent != nil
        if machine, signsIn || background || !common.profile.isEmpty {
            throw ValidationError(
                "--machine takes only --socket, --tickets, --max-caches and --keep-expired: it signs no one in and reads no profile."
            )
        }
        if let maxCaches, !(1...100_000).contains(maxCaches) { throw ValidationError("--max-caches requires a number from 1 to 100000.") }
        if system, maxCaches != nil { throw ValidationError("--system stores no tickets, so it cannot be combined with --max-caches.") }
        if system, tickets != nil || keepExpired != nil {
            throw ValidationError("--system stores no tickets, so it cannot be combined with --tickets or --keep-expired.")
        }
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
            _ = try eventProgram([:])
            if let pinentry, PinentryPrompter.path(of: pinentry, environment: ProcessInfo.processInfo.environment) == nil {
                throw CommandFailure(.failed, "\(pinentry): there is no such program. Give --pinentry the path of one.")
            }
            if background {
                // Before the log is touched, which is that agent's.
                let agent = RunningAgent(runtime)
                if let unreachable = await agent.unreachable() {
                    throw CommandFailure(.failed, agent.unreachableSentence(unreachable))
                }
                guard !runtime.isServed else {
                    throw await alreadyRunning(runtime, "an agent is already running in \(runtime.path). See: ksso agent status")
                }
                let start = try BackgroundAgent(runtime: runtime).start(waitingForSignIn: keytab != nil)
                Console.print("The agent serves in \(runtime.path). Stop it with: ksso agent stop")
                await MovedTickets(principals: start.moved).report(runtime, environment: ProcessInfo.processInfo.environment)
                switch start.signIn {
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
                // With sockets of systemd, this process would wait for itself.
                guard ProcessInfo.processInfo.environment["LISTEN_PID"] != "\(getpid())" else { throw error }
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
            throw CommandFailure(.usage, "--keytab \(keytab): a keytab must be a file. Give a path, or FILE: and a path.")
        }
        guard access(path, R_OK) == 0 else {
            throw CommandFailure(.failed, "\(path): the keytab cannot be read: \(String(cString: strerror(errno))).")
        }
    }

    /// Returns the error for an agent that runs already: the given sentence, or a message that the agent does not answer.
    private func alreadyRunning(_ runtime: RuntimeDirectory, _ sentence: String) async -> CommandFailure {
        guard let listener = await RunningAgent(runtime).silent() else { return CommandFailure(.failed, sentence) }
        return CommandFailure(.failed, "an agent is already running in \(runtime.path): \(listener.silence)")
    }

    private func harden() {
        Self.wipeFreedMemory()
        // Sets the name that ps and top show, because the program may have been started by another name.
        try? Data("ksso".utf8).write(to: URL(filePath: "/proc/self/comm"))
        ProcessProtection.forbidDumps()
        ProcessProtection.raiseFileLimit()
        // The process that started the agent may have exited and closed the pipe of its standard error.
        signal(SIGPIPE, SIG_IGN)
    }

    private func serve(_ runtime: RuntimeDirectory) async throws {
        harden()
        let environment = ProcessInfo.processInfo.environment
        setenv("KRB5_CONFIG", KerberosConfigurationFile.searchPath(runtime.sessionConfiguration, environment: environment), 1)
        let agent = Agent(try options(runtime, environment: environment))
        let hasTerminal = Self.hasTerminal
        let ending = try await ProcessSignals.withSignals { signals in
            try await agent.run(until: {
                // With a terminal, SIGHUP means that the terminal was closed, and ends the agent. Without one, it means to read the
                // profiles again.
                while await signals.next() == SIGHUP, !hasTerminal { agent.readProfilesAgain() }
            })
        }
        switch ending {
        case .stopped: return
        // The units restart the service for this status; other service managers do so for any status but 0.
        case .replaced: throw CommandFailure(.temporaryFailure)
        case .restart(let path, let sockets): throw restart(path, sockets: sockets)
        }
    }

    /// Executes the program that has replaced this one; returns only if that fails.
    private func restart(_ path: String, sockets: String) -> CommandFailure {
        for descriptor in sockets.split(separator: ":").dropFirst().compactMap({ Int32($0) }) { _ = fcntl(descriptor, F_SETFD, 0) }
        var environment = ProcessInfo.processInfo.environment
        environment[Agent.socketsVariable] = sockets
        ProcessSignals.restoreDefaults()
        let code = ProcessReplacement(path: path, arguments: CommandLine.arguments, environment: environment).begin()
        return CommandFailure(.failed, "\(path): the new program cannot be started: \(String(cString: strerror(code))).")
    }

    private func options(_ runtime: RuntimeDirectory, environment: [String: String]) throws(CommandFailure) -> AgentOptions {
        let asking = AgentPrompter(program: pinentry, environment: environment)
        var options = common.agentOptions(runtime, system: system, asking: asking, environment: environment)
        options.ticketDirectory = tickets
        if let maxCaches { options.maximumCaches = maxCaches }
        options.idleExit = idleExit?.duration
        options.keytab = keytab.map { AgentOptions.Keytab(path: KeytabName.path($0) ?? $0, principal: principal) }
        options.systemConfiguration = RuntimeDirectory.systemConfigurationFiles(environment: environment)
        options.logFile = Self.logFile
        if let keepExpired { options.expiredCachePeriod = keepExpired.duration }
        let configuration = KerberosConfigurationFile.searchPath(runtime.sessionConfiguration, environment: environment)
        options.runProgram = try eventProgram(environment.merging(["KRB5_CONFIG": configuration]) { $1 }).map { program in
            { @Sendable event in await program.run(event) }
        }
        return options
    }

    /// Creates the program of --on-event; nil if the option is not given.
    private func eventProgram(_ environment: [String: String]) throws(CommandFailure) -> EventProgram? {
        guard let onEvent else { return nil }
        return try EventProgram(path: onEvent, limit: eventTimeout?.duration ?? .seconds(30), environment: environment)
    }

    private static var hasTerminal: Bool {
        let descriptor = open("/dev/tty", O_RDONLY | O_NOCTTY | O_CLOEXEC)
        defer { if descriptor >= 0 { close(descriptor) } }
        return descriptor >= 0
    }

    /// The path of standard error, if it is a regular file.
    private static var logFile: String? {
        guard FileStatus(descriptor: STDERR_FILENO)?.isFile == true else { return nil }
        return try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/\(STDERR_FILENO)")
    }

    /// Executes this program again in the same process, because glibc reads its settings before a program starts.
    private static func wipeFreedMemory() {
        var environment = ProcessInfo.processInfo.environment
        let (name, value) = ProcessProtection.wipingVariable
        let given = environment[name] ?? ""
        guard !given.hasSuffix(value) else { return }
        // If a setting occurs several times, the last one counts.
        environment[name] = given.isEmpty ? value : "\(given):\(value)"
        // If this fails, the agent works without the setting.
        _ = ProcessReplacement(path: OwnProgram.executable, arguments: CommandLine.arguments, environment: environment).begin()
    }
}

extension AgentRun {
    /// Serves the credential caches of every user of the machine.
    func serveMachine() async throws {
        let environment = ProcessInfo.processInfo.environment
        var options = MachineCache.Options(
            directory: try tickets ?? Self.machineDirectory(environment),
            environment: environment,
            log: { Console.report($0) }
        )
        if let socket { options.socket = socket }
        if let maxCaches { options.maximumCaches = maxCaches }
        if let keepExpired { options.expiredCachePeriod = keepExpired.duration }
        let cache = MachineCache(options)
        try await ProcessSignals.withSignals { signals in
            try await cache.run(until: { _ = await signals.next() })
        }
    }

    /// Returns a folder in systemd's runtime directory, which may be a symbolic link, or else in `/run/ksso`.
    private static func machineDirectory(_ environment: [String: String]) throws -> String {
        let parent = environment["RUNTIME_DIRECTORY"].flatMap { $0.hasPrefix("/") && !$0.contains(":") ? $0 : nil } ?? "/run/ksso"
        guard mkdir(parent, 0o700) == 0 || errno == EEXIST else {
            throw CommandFailure(
                .failed,
                "\(parent): the folder cannot be created: \(String(cString: strerror(errno))). Specify another one with --tickets."
            )
        }
        return "\(parent)/caches"
    }
}

/// The argument of `--keytab`: a path, or libkrb5's name of a file such as `FILE:/etc/app.keytab`.
enum KeytabName {
    /// Returns the path of the file; nil for a keytab type other than a file.
    static func path(_ name: String) -> String? {
        let type = name.prefix { $0 != ":" && $0 != "/" }
        guard name.dropFirst(type.count).first == ":" else { return name }
        return type == "FILE" ? String(name.dropFirst(type.count + 1)) : nil
    }
}

/// The tickets that an agent has moved from the system's default cache, where other programs looked for them.
struct MovedTickets {
    let principals: [String]

    /// Prints to standard error how other programs find the tickets. Prints nothing if they use the agent's caches already.
    func report(_ runtime: RuntimeDirectory, environment: [String: String]) async {
        guard !principals.isEmpty, let socket = runtime.cacheSocket, !KerberosEnvironment.reaches(socket, environment: environment) else {
            return
        }
        let names = principals.joined(separator: " and ")
        let isConfigured = await SessionSetUp(environment: environment).isInstalled
        Console.note(
            "Moved the tickets of \(names) into the agent. To share the tickets with this shell: eval \"$(ksso env)\"; "
                + (isConfigured ? "with all programs: log in again." : "with all later sessions: ksso configure session --install")
        )
    }
}
