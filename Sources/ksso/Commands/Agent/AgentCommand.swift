internal import ArgumentParser
internal import CommandSupport
internal import Foundation
internal import Kerberos
internal import KerberosEngine
internal import KerberosSSO
internal import SSOAgent
internal import SSOAgentClient
internal import SystemSupport

/// `ksso agent`: the process that stores and renews the tickets for all programs of the user.
struct AgentCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "agent",
        abstract: "Run, inspect or stop the agent, which keeps this user's tickets and renews them.",
        discussion: """
            EXAMPLES:
              ksso agent run --background
              ksso agent status
            """,
        subcommands: [AgentRun.self, AgentStatus.self, AgentStop.self, AgentImport.self, AgentPrepare.self]
    )
}

struct AgentStatus: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "status",
        abstract: "Print whether an agent is running, and what it stores.",
        discussion: """
            Exits with status 1 if no agent is running. To see who is signed in, run: ksso status

            EXAMPLES:
              ksso agent status
              ksso agent status --json
            """
    )

    @Flag(help: "Print one JSON document.")
    var json = false

    func run() async throws {
        let runtime = RuntimeDirectory(environment: ProcessInfo.processInfo.environment)
        let document = try await RunningAgent(runtime).status()
        if json { return try Console.printJSON(document) }
        guard let process = document.process else { return }
        let loss = document.cacheMode == "agent" && !runtime.servesCaches ? runtime.loss(of: .caches) : nil
        let state = loss == nil ? "serves in" : "is running, but programs cannot reach its tickets, in"
        Console.print("The agent \(state) \(runtime.path): process \(process.processID), since \(process.started.localText).")
        if let loss { Console.print("    \(loss.fault). \(loss.remedy)") }
        if document.cacheMode == "agent" {
            let caches = quantity(process.caches ?? 0, "credential cache")
            Console.print("    \(quantity(process.tickets ?? 0, "ticket")) in \(caches)")
            Console.print("    \(quantity(process.cacheConnections ?? 0, "connection")) to them, \(process.connections) to its API")
        } else {
            Console.print(
                "    it renews the tickets in the system's default cache; \(quantity(process.connections, "connection")) to its API"
            )
        }
        if let failure = document.failure { Console.print("    the sessions are unknown: \(failure)") }
        if let date = process.profilesRead {
            let files = process.profiles ?? []
            Console.print("    profiles read \(date.localText): \(files.isEmpty ? "none" : files.joined(separator: ", "))")
        }
        if let failure = process.messages?.last(where: \.isFailure) {
            Console.print("    last failure \(failure.date.localText): \(failure.text)")
        }
        if let log = process.log { Console.print("    log: \(log)") }
    }
}

struct AgentStop: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "stop",
        abstract: "Stop the agent; its tickets on disk are kept for the next start.",
        discussion: """
            The agent first completes the requests that it has started. An agent that does not answer, such as a suspended one, is \
            terminated by a signal. To end the sessions as well, first run: ksso logout --all

            EXAMPLES:
              ksso agent stop
              ksso logout --all && ksso agent stop
            """
    )

    func run() async throws {
        let runtime = RuntimeDirectory(environment: ProcessInfo.processInfo.environment)
        let status: StatusDocument
        switch try await RunningAgent(runtime).answer() {
        case .status(let document): status = document
        case .silence(let listener): return try await end(listener, runtime, "did not answer")
        case .unreachable(let agent): return try await end(agent, runtime, "could not be reached at \(runtime.loss(of: .requests).fault)")
        }
        guard let process = status.process?.processID else { return }
        // The listener is determined while the agent runs, because connecting later would make systemd start the next agent.
        let stopCommand = runtime.listener(at: .requests)?.stopCommand
        kill(process, SIGTERM)
        try await Self.waitForEnd(of: process)
        Console.print("The agent has stopped.")
        if let stopCommand {
            Console.note("systemd starts it again for the next program that needs it. To prevent that: \(stopCommand)")
        }
        let principals = status.sessions.filter(\.signedIn).map(\.principal).joined(separator: ", ")
        guard status.cacheMode == "agent", !principals.isEmpty else { return }
        let command = stopCommand == nil ? "ksso agent run --background; ksso logout --all" : "ksso logout --all"
        Console.note("The tickets of \(principals) are kept for the next start. To destroy them: \(command)")
    }

    /// Ends an agent that does not answer.
    private func end(_ listener: AgentListener, _ runtime: RuntimeDirectory, _ fault: String) async throws {
        let process = listener.processID
        try await Self.end(listener)
        Console.print("The agent (process \(process)) \(fault). It was terminated by a signal.")
        if let kept = runtime.keptTickets { Console.note(kept.note) }
    }

    /// Stops an agent by a signal.
    ///
    /// - Throws: ``CommandFailure`` if the listener is not an agent, such as systemd, or if it does not stop.
    static func end(_ listener: AgentListener) async throws {
        guard listener.isAgent, kill(listener.processID, SIGTERM) == 0 else { throw CommandFailure(.failed, listener.silence) }
        // A suspended process receives the SIGTERM when it continues.
        kill(listener.processID, SIGCONT)
        try await waitForEnd(of: listener.processID)
    }

    /// Waits for the end of the agent, which gives its clients some seconds. Its parent process may take longer to collect its status.
    private static func waitForEnd(of process: Int32) async throws {
        let agent = RunningProcess(processID: process)
        // Where no process collects the status of orphans, as in many containers, an agent that has ended remains as a zombie.
        let isVisible = RunningProcess.current != nil
        if try await pollUntil(within: .seconds(20), { kill(process, 0) != 0 || isVisible && agent?.isRunning != true }) { return }
        guard agent?.isRunning == true else { return }
        let sentence = "the agent (process \(process)) did not stop in time. To terminate it: kill -KILL \(process)"
        throw CommandFailure(.failed, sentence)
    }
}

/// `ksso agent import`: copies the tickets of a login to the agent.
struct AgentImport: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "import",
        abstract: "Copy the tickets of a credential cache into the agent.",
        discussion: """
            Use this for a cache that a login created, such as that of pam_krb5 or the tickets that ssh delegates: KRB5CCNAME names it, \
            and the session configuration runs this command. The cache itself is not changed. A principal that signed in with ksso login \
            keeps that ticket; earlier tickets of other programs are replaced.

            EXAMPLES:
              ksso agent import FILE:/tmp/krb5cc_1000_x8Wq2p
            """
    )

    @Argument(help: ArgumentHelp("The cache to copy; by default the one that KRB5CCNAME names.", valueName: "cache"))
    var cache: String?

    func run() async throws {
        let environment = ProcessInfo.processInfo.environment
        guard let name = cache ?? environment["KRB5CCNAME"], !name.isEmpty else {
            throw CommandFailure(.usage, "no credential cache is specified. Specify one, or set KRB5CCNAME.")
        }
        let runtime = RuntimeDirectory(environment: environment)
        guard let socket = try await cacheSocket(of: runtime) else {
            throw CommandFailure(.failed, "no agent keeps tickets in \(runtime.path). Start one with: ksso agent run --background")
        }
        if let listener = await RunningAgent(runtime).silent() { throw CommandFailure(.failed, listener.silence) }
        let base = RealmConfiguration.Base.files(RuntimeDirectory.systemConfigurationFiles(environment: environment))
        let source = RealmConfiguration(realm: "", base: base, defaultCacheName: name)
        let target = RealmConfiguration(realm: "", libdefaults: ["kcm_socket": socket], base: base, defaultCacheName: "KCM:")
        let tickets = CacheImport(from: KerberosClient(source), to: KerberosClient(target), isLogin: true)
        do throws(KerberosError) {
            let copied = try await tickets.run().copied
            for principal in copied { Console.print("The agent now has the tickets of \(principal).") }
            if copied.isEmpty { Console.note("\(name): nothing was copied, because the agent's own tickets are valid for longer.") }
        } catch {
            // An agent that started a moment ago has moved the tickets of ksso login there. The variable would hide them from programs. A
            // cache that exists stays in use: its program may acquire tickets later.
            if cache == nil, error.code == .noCredentials, CredentialCacheName(rawValue: name).isMissingFile,
                let present = try? await tickets.presentPrincipals(), !present.isEmpty
            {
                return Console.note(
                    "\(name): there are no tickets. The agent has those of \(present.map(\.description).joined(separator: ", "))."
                )
            }
            throw CommandFailure(error, verbose: false)
        }
    }

    /// The agent's cache socket. If it is lost, waits until it is bound again.
    private func cacheSocket(of runtime: RuntimeDirectory) async throws(CommandFailure) -> String? {
        do {
            return try await runtime.findCacheSocket()
        } catch {
            throw CommandFailure(error, verbose: false)
        }
    }
}

/// `ksso agent prepare`: run by systemd before it listens in place of an agent.
struct AgentPrepare: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "prepare",
        abstract: "Write the krb5.conf that directs programs to the agent's sockets, and exit.",
        discussion: """
            For a service manager that listens on the agent's sockets, and starts the agent with the first request.

            EXAMPLES:
              ksso agent prepare
            """
    )

    @OptionGroup var common: CommonOptions

    func run() async throws {
        do {
            let environment = ProcessInfo.processInfo.environment
            let runtime = RuntimeDirectory(environment: environment)
            try runtime.makePrivate()
            try await Agent(common.agentOptions(runtime, environment: environment)).prepare()
        } catch let error as AgentError {
            throw CommandFailure(.failed, error.description)
        } catch {
            throw CommandFailure(error, verbose: common.isVerbose)
        }
    }
}

extension CredentialCacheName {
    /// Whether the name is that of a file that does not exist.
    fileprivate var isMissingFile: Bool { path.map { !FileManager.default.fileExists(atPath: $0) } ?? false }
}
