internal import ExtensionProfile
internal import Foundation
internal import KCM
internal import Kerberos
internal import KerberosEngine
internal import SSOAgentClient
internal import SignOnPolicy
internal import Synchronization
internal import SystemSupport

/// One user's agent: a process that serves the credential caches and the API, and keeps the sessions alive.
///
/// The caches are served first, because the agent's own engine is a client of them, like every other program of the user.
package final class Agent: Sendable {
    let options: AgentOptions
    let events = EventHub()
    private let started = Date()
    private let ending = AsyncStream.makeStream(of: Ending.self)
    let journal: Journal
    let reading = Mutex(Reading())
    let occasions = AsyncStream.makeStream(of: Occasion.self, bufferingPolicy: .bufferingNewest(1))
    /// The paths at which clients find the sockets.
    let places = Mutex<[SocketPlace]>([])
    /// The last failure reported for each lost socket, by path.
    let losses = Mutex<[String: String]>([:])
    /// The identity of krb5.conf as this agent last wrote it.
    let configuration = Mutex<FileIdentity?>(nil)
    /// By which this process uses its own caches; nil if the tickets are elsewhere.
    let ownCaches: SocketHandle?

    /// Creates an agent that does not serve yet.
    package init(_ options: AgentOptions) {
        self.options = options
        journal = Journal(options.log)
        ownCaches = options.mode == .agent ? SocketHandle() : nil
    }

    /// The path at which the engine reaches the socket of the agent's own caches; nil if the tickets are in the system's default cache.
    var cacheSocket: String? { options.mode == .agent ? ownCaches?.path ?? options.runtime.kcmSocket : nil }

    /// Makes ``run(until:)`` shut down in order and return. Can be called from any thread.
    package func stop() { stop(.stopped) }

    /// Stops the agent and records the reason.
    func stop(_ reason: Ending) { ending.continuation.yield(reason) }

    /// Why ``run(until:)`` returned.
    package enum Ending: Sendable, Hashable {
        /// The agent was stopped, was idle for too long, or found that another process serves its clients.
        case stopped
        /// The program file was replaced, and systemd starts the new program.
        case replaced
        /// The program file at this path was replaced, and this process is to execute the new program. The sockets keep listening. The
        /// variable ``socketsVariable``, set to `sockets`, tells the new program which descriptors they are.
        case restart(path: String, sockets: String)
    }

    /// Serves until `end` returns, ``stop()`` is called or the agent has been idle for too long. Then answers the pending requests and
    /// returns.
    ///
    /// `KRB5_CONFIG` of this process must name the krb5.conf of ``SSOAgentClient/RuntimeDirectory``. This method writes that file before
    /// the first call to libkrb5.
    ///
    /// - Returns: Why the agent stopped.
    /// - Throws: ``AgentError``, `SocketError`, or an error of the profiles or of the stored tickets.
    @discardableResult
    package func run(until end: @escaping @Sendable () async -> Void) async throws -> Ending {
        try makeDirectory()
        let lock = try await takeLock()
        defer { withExtendedLifetime(lock) {} }
        // The watch starts before the profiles are read, so that no change is missed.
        let watch = FileWatch { [search = options.search] in search.places }
        let profiles = try await readProfiles()
        let current = CurrentExtension(try await options.makeExtension(profiles.profiles, cacheSocket))
        // Written before the sockets exist, because a program that finds a socket relies on the krb5.conf that names it.
        try writeConfiguration(current.value.policy)
        var sockets: AgentSockets
        do {
            sockets = try AgentSockets(options)
        } catch {
            configuration.withLock { $0 }?.unlink(options.runtime.sessionConfiguration)
            throw error
        }
        let found = sockets.places
        places.withLock { $0 = found }
        // When the agent restarts, its sockets stay where clients find them.
        var staysInPlace = false
        defer { if !staysInPlace { removeOwnFiles() } }
        if let place = found.first(where: { $0.socket == .caches }), let ownCaches, !ownCaches.lead(to: place.path) {
            throw AgentError(
                .directoryUnusable,
                "\(place.path): the socket was removed immediately after it was created. Start the agent again."
            )
        }
        let reason = try await serve(current, profiles, watch, &sockets, until: end)
        if case .restart = reason { staysInPlace = true }
        return reason
    }

    /// Writes the krb5.conf that names the sockets on which a service manager listens before an agent runs. Does nothing if an agent is
    /// running, because it has written the file.
    ///
    /// - Throws: ``AgentError``, or an error of the profiles.
    package func prepare() async throws {
        try makeDirectory()
        do {
            let lock = try AgentLock(options.runtime)
            defer { withExtendedLifetime(lock) {} }
            try await writeConfiguration()
        } catch let error as AgentError where error.code == .alreadyRunning {
            return
        }
    }

    private func writeConfiguration() async throws {
        let kerberos = try await options.makeExtension(try await readProfiles().profiles, nil)
        try writeConfiguration(kerberos.policy)
    }

    private func makeDirectory() throws(AgentError) {
        let directory = PrivateDirectory(path: options.runtime.path)
        guard directory.make() else { throw AgentError(.directoryUnusable, directory.fault) }
    }

    private func serve(
        _ current: CurrentExtension,
        _ profiles: ProfileSearchResult,
        _ watch: FileWatch?,
        _ sockets: inout AgentSockets,
        until end: @escaping @Sendable () async -> Void
    ) async throws -> Ending {
        let activity = Activity()
        let eventRuns = EventRuns(journal)
        let keeper = SessionKeeper(
            current,
            events: events,
            network: NetworkWatch()?.changes,
            happened: { [isWanted = options.runProgram != nil] event in if isWanted { eventRuns.note(event) } },
            log: journal.failure,
            note: journal.note
        )
        let login = makeLoginWatch(current)
        let losses = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        let caches = try await serveCaches(
            sockets.kcm.take(),
            current,
            keeper: keeper,
            activity: activity,
            losses: losses.continuation
        )
        if await !Self.wait(atMost: Self.importLimit, { [self] in await importTickets() }) {
            journal.failure("the system's default cache does not respond, so its tickets are not imported yet.")
        }
        let signIn = options.keytab.map { KeytabSignIn($0, current: current, journal: journal) }
        let api = AgentAPI(
            current,
            events: events,
            facts: { [self] in await facts(caches) },
            stop: { [weak self] in self?.stop() },
            sessionsChanged: { keeper.poke() },
            signsIn: { realm, principal in await signIn?.hasSignedIn(realm: realm, principal: principal) ?? false },
            used: { principal in
                activity.note()
                keeper.noteUse(of: principal)
            },
            isScreenLocked: { login.isScreenLocked },
            acceptFailure: { [journal] in journal.acceptsConnections(failure: $0) }
        )
        do {
            if let socket = sockets.api.take() { try await api.serve(socket) }
        } catch {
            await caches?.shutDown()
            throw error
        }
        let notification = ServiceNotification(environment: options.environment)
        notification.ready("serving in \(options.runtime.path)")
        let work = Task { [self] in
            await withTaskGroup(of: Void.self) { group in
                group.addTask { await keeper.run() }
                if let program = options.runProgram { group.addTask { await eventRuns.run(program) } }
                group.addTask { await login.run { keeper.note($0) } }
                // A sign-out runs in another process, so this process must drop its service tickets when a cache goes away.
                group.addTask {
                    for await _ in losses.stream {
                        current.value.forgetServiceTickets()
                        await Self.endStaleExchanges(of: api, current)
                    }
                }
                // If the caches are the system's, only the keeper notices that one is gone.
                group.addTask { [events] in
                    for await event in events.events() where event.kind == .signedOut { losses.continuation.yield() }
                }
                group.addTask { [self] in await followProfiles(profiles, watch, current, keeper, caches) }
                group.addTask { [self] in await lookAround(api, current, activity) }
                group.addTask { [self] in await watchSockets(caches, api) }
                group.addTask { [self] in await watchProgram() }
                group.addTask { [self] in await notePromptFaults() }
                if let signIn { group.addTask { await signIn.run(notification) } }
            }
        }
        let reason = await waitForEnd(end)
        // If the agent restarts, the duplicate descriptors keep listening meanwhile.
        if case .restart = reason {} else { closeCopies() }
        notification.stopping()
        work.cancel()
        // This answers the requests that wait for the sign-in.
        signIn?.stop()
        await Self.wait(atMost: Self.workLimit) { await work.value }
        // The event streams end first, because the API waits for every response.
        events.close()
        await Self.wait(atMost: Self.shutDownLimit) { await api.shutDown() }
        await Self.wait(atMost: Self.shutDownLimit) { await caches?.shutDown() }
        return reason
    }

    /// The time limit for importing the system's default cache, which may be served by a process that does not answer.
    private static let importLimit = Duration.seconds(5)
    /// The time limit for the background work to end. A libkrb5 call that waits for another process's cache cannot be canceled.
    private static let workLimit = Duration.seconds(3)
    /// The time limit for each server to answer the pending requests; longer than the server's own grace period.
    private static let shutDownLimit = Duration.seconds(7)

    private func serveCaches(
        _ socket: consuming ListeningSocket?,
        _ current: CurrentExtension,
        keeper: SessionKeeper,
        activity: Activity,
        losses: AsyncStream<Void>.Continuation
    ) async throws -> KCMServer? {
        guard let socket = socket.take() else { return nil }
        let descriptors = ProcessProtection.fileLimit
        let server = try KCMServer(
            KCMServer.Options(
                directory: options.tickets,
                storeLimits: StoreLimits(caches: options.maximumCaches),
                retention: retention,
                limits: ServerLimits(totals: .agent(descriptors: descriptors, processors: ProcessInfo.processInfo.processorCount)),
                isPermitted: { peer in
                    guard current.access.permitsCaches(peer) else { return false }
                    // Not each connection counts as a use, because a program opens one for each cache that it uses.
                    if peer.processID != getpid(), activity.note() { keeper.noteUse(of: nil) }
                    return true
                },
                observer: { event in
                    activity.note()
                    if [.destroyed, .initialized, .removed].contains(event.kind) { losses.yield() }
                    keeper.poke()
                },
                report: { [journal] in journal.add($0) }
            )
        )
        try await server.serve(socket)
        return server
    }

    private func waitForEnd(_ end: @escaping @Sendable () async -> Void) async -> Ending {
        let waiting = Task { [ending] in
            await end()
            ending.continuation.yield(.stopped)
        }
        defer { waiting.cancel() }
        for await reason in ending.stream { return reason }
        return .stopped
    }

    private func facts(_ caches: KCMServer?) async -> StatusDocument.Process {
        var process = StatusDocument.Process(processID: getpid(), started: started)
        let reading = reading.withLock { $0 }
        process.profilesRead = reading.date
        process.profiles = reading.sources
        process.messages = journal.recent
        process.log = options.logFile
        if let caches {
            let counts = await caches.counts
            process.cacheConnections = counts.reduce(0) { $0 + $1.connections }
            process.caches = counts.reduce(0) { $0 + $1.caches }
            process.tickets = counts.reduce(0) { $0 + $1.tickets }
        }
        return process
    }

    /// Writes the krb5.conf for the agent itself and for the programs that share its tickets.
    func writeConfiguration(_ policy: DecisionPolicy) throws(AgentError) {
        let file = KerberosConfigurationFile(
            policy.configurations,
            defaultRealm: policy.defaultConfiguration?.realm,
            // Most clients send no channel bindings. A server that checks them would refuse tokens that claim support for them.
            bindsTokens: false,
            cacheSocket: options.mode == .agent ? options.runtime.kcmSocket : nil
        )
        do {
            try Data(file.text.utf8).write(to: URL(filePath: options.runtime.sessionConfiguration), options: .atomic)
            configuration.withLock { $0 = FileIdentity(path: options.runtime.sessionConfiguration) }
        } catch {
            throw AgentError(.directoryUnusable, "\(options.runtime.sessionConfiguration): the file cannot be written.")
        }
    }
}

extension Agent {
    /// Logs why the user cannot be prompted for a password, once for all programs that wait for one.
    func notePromptFaults() async {
        guard let faults = options.promptFaults else { return }
        let beginning = "no password prompt is available: "
        var last: String?
        for await fault in faults where fault != last {
            if let fault { journal.failure(beginning + fault) } else { journal.settle(beginning, "password prompts are available again.") }
            last = fault
        }
    }
}
