internal import ArgumentParser
internal import Foundation
internal import Kerberos
internal import KerberosEngine
internal import KerberosSSO
internal import SSOAgent
internal import SSOAgentClient

/// `ksso agent`: the process that stores and renews the tickets for all programs of the user.
struct AgentCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "agent",
        abstract: "Keep the tickets for every program of this user: run, look after, or stop the agent.",
        subcommands: [AgentRun.self, AgentStatus.self, AgentStop.self, AgentImport.self, AgentPrepare.self]
    )
}

struct AgentStatus: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "status",
        abstract: "Say whether an agent runs, and what it holds.",
        discussion: "Ends with 1 when none runs. Who is signed in: ksso status."
    )

    @Flag(help: "Print one JSON document.")
    var json = false

    func run() async throws {
        let runtime = RuntimeDirectory(environment: ProcessInfo.processInfo.environment)
        let document = try await RunningAgent(runtime).status()
        if json { return try Console.printJSON(document) }
        guard let process = document.process else { return }
        let loss = document.cacheMode == "agent" && !runtime.servesCaches ? runtime.loss(of: .caches) : nil
        let state = loss == nil ? "serves in" : "runs, but programs can't reach its tickets, in"
        Console.print("The agent \(state) \(runtime.path): process \(process.processID), since \(Console.text(process.started)).")
        if let loss { Console.print("    \(loss.fault). \(loss.remedy)") }
        if document.cacheMode == "agent" {
            let caches = process.caches ?? 0
            Console.print("    \(process.tickets ?? 0) tickets in \(caches) credential \(caches == 1 ? "cache" : "caches")")
            Console.print("    \(process.cacheConnections ?? 0) connections to them, \(process.connections) to its API")
        } else {
            Console.print("    it renews the tickets of the system's default cache; \(process.connections) connections to its API")
        }
        if let failure = document.failure { Console.print("    the sessions are not known: \(failure)") }
        if let date = process.profilesRead {
            let files = process.profiles ?? []
            Console.print("    profiles read \(Console.text(date)): \(files.isEmpty ? "none" : files.joined(separator: ", "))")
        }
        if let failure = process.messages?.last(where: \.isFailure) {
            Console.print("    last failure \(Console.text(failure.date)): \(failure.text)")
        }
        if let log = process.log { Console.print("    log: \(log)") }
    }
}

struct AgentStop: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "stop",
        abstract: "Stop the agent. What it keeps on disk stays for the next one.",
        discussion: """
            The requests that it has begun are answered first. One that does not answer, such as a stopped one, is ended by a signal. To end the \
            sessions as well, first: ksso logout --all
            """
    )

    func run() async throws {
        let runtime = RuntimeDirectory(environment: ProcessInfo.processInfo.environment)
        let status: StatusDocument
        switch try await RunningAgent(runtime).answer() {
        case .status(let document): status = document
        case .silence(let listener): return try await end(listener, runtime, "did not answer")
        case .unreachable(let agent): return try await end(agent, runtime, "could not be asked at \(runtime.loss(of: .requests).fault)")
        }
        guard let process = status.process?.processID else { return }
        // The listener is determined while the agent runs, because connecting later would make systemd start the next agent.
        let stopCommand = runtime.listener(at: .requests)?.stopCommand
        kill(process, SIGTERM)
        try await Self.waitForEnd(of: process)
        Console.print("The agent has stopped.")
        if let stopCommand {
            Console.note("systemd starts it again for the next program that needs it. To stop that as well: \(stopCommand)")
        }
        let principals = status.sessions.filter(\.signedIn).map(\.principal).joined(separator: ", ")
        guard status.cacheMode == "agent", !principals.isEmpty else { return }
        let command = stopCommand == nil ? "ksso agent run --background; ksso logout --all" : "ksso logout --all"
        Console.note("The tickets of \(principals) are kept for the next one. To end them: \(command)")
    }

    /// Ends an agent that does not answer.
    private func end(_ listener: AgentListener, _ runtime: RuntimeDirectory, _ fault: String) async throws {
        let process = listener.processID
        try await Self.end(listener)
        Console.print("The agent (process \(process)) \(fault). It was told to end by a signal, and has stopped.")
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
        let limit = ContinuousClock.now + .seconds(20)
        let agent = RunningProcess(processID: process)
        while kill(process, 0) == 0 {
            guard ContinuousClock.now < limit else {
                guard agent?.isRunning == true else { return }
                let sentence = "the agent (process \(process)) was told to stop and still runs. To end it at once: kill -KILL \(process)"
                throw CommandFailure(.failed, sentence)
            }
            try await Task.sleep(for: .milliseconds(20))
        }
    }
}

/// `ksso agent import`: copies the tickets of a login to the agent.
struct AgentImport: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "import",
        abstract: "Copy the tickets of a credential cache into the agent.",
        discussion: """
            For a cache that a login made, such as the one of pam_krb5 or the tickets that ssh delegates: KRB5CCNAME names it, and the \
            session's set-up runs this command. The cache itself stays as it is. A principal that is signed in by ksso login keeps that \
            ticket; earlier tickets of other programs are replaced.

            Example: ksso agent import FILE:/tmp/krb5cc_1000_x8Wq2p
            """
    )

    @Argument(help: ArgumentHelp("The cache; by default the one that KRB5CCNAME names.", valueName: "cache"))
    var cache: String?

    func run() async throws {
        let environment = ProcessInfo.processInfo.environment
        guard let name = cache ?? environment["KRB5CCNAME"], !name.isEmpty else {
            throw CommandFailure(.usage, "no credential cache is named. Name one, or set KRB5CCNAME.")
        }
        let runtime = RuntimeDirectory(environment: environment)
        guard let socket = try await cacheSocket(of: runtime) else {
            throw CommandFailure(.failed, "no agent keeps tickets in \(runtime.path). Start one with: ksso agent run --background")
        }
        if let listener = await RunningAgent(runtime).silent() { throw CommandFailure(.failed, listener.silence) }
        let base = RealmConfiguration.Base.files(KerberosConfigurationFile.systemFiles(environment: environment))
        let source = RealmConfiguration(realm: "", base: base, defaultCacheName: name)
        let target = RealmConfiguration(realm: "", libdefaults: ["kcm_socket": socket], base: base, defaultCacheName: "KCM:")
        do {
            let copied = try await CacheImport(from: KerberosClient(source), to: KerberosClient(target), isLogin: true).run()
            for principal in copied { Console.print("The agent has the tickets of \(principal) now.") }
            if copied.isEmpty { Console.note("\(name): nothing was copied, because the agent's own tickets are valid for longer.") }
        } catch {
            throw CommandFailure(error, verbose: false)
        }
    }

    /// The agent's, which is waited for if it is lost.
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
        abstract: "Write the krb5.conf that leads programs to the agent's sockets, and end.",
        discussion: "For a service manager that listens in the agent's place, and starts it with the first request."
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
