internal import ExtensionProfile
internal import Foundation
internal import HTTPNegotiate
internal import KCM
internal import Kerberos
internal import KerberosEngine
internal import SSOAgentClient
internal import Synchronization
internal import UnixSystem

/// One user's agent: the credential caches, the API, and what keeps the sessions alive, in one process.
///
/// The caches are served before anything else, since the agent's own engine is a client of them, as every program of the user is.
package final class Agent: Sendable {
    let options: AgentOptions
    let events = EventHub()
    private let started = Date()
    private let ending = AsyncStream.makeStream(of: Ending.self)
    let journal: Journal
    let reading = Mutex(Reading())
    let occasions = AsyncStream.makeStream(of: Occasion.self, bufferingPolicy: .bufferingNewest(1))
    /// Where clients find the sockets.
    let places = Mutex<[SocketPlace]>([])
    /// What was reported of sockets that were lost, by their path.
    let losses = Mutex<[String: String]>([:])
    /// The krb5.conf as it was written last.
    let configuration = Mutex<FileIdentity?>(nil)
    /// By which this process uses its own caches; nil if the tickets are elsewhere.
    let ownCaches: SocketHandle?

    /// An agent that does nothing yet.
    package init(_ options: AgentOptions) {
        self.options = options
        journal = Journal(options.log)
        ownCaches = options.mode == .agent ? SocketHandle() : nil
    }

    /// The socket of the agent's own caches, as its engine reaches it; nil if the tickets are elsewhere.
    var cacheSocket: String? { options.mode == .agent ? ownCaches?.path ?? options.runtime.kcmSocket : nil }

    /// Ends ``run(until:)`` in order. From any thread.
    package func stop() { stop(.stopped) }

    /// The same, with the reason.
    func stop(_ reason: Ending) { ending.continuation.yield(reason) }

    /// Why an agent has ended.
    package enum Ending: Sendable, Hashable {
        /// It was told to, or is not needed any more, or another process serves its clients.
        case stopped
        /// The file of its program was replaced, and systemd starts the new one.
        case replaced
        /// The file of its program, at this path, was replaced: the process is to become the new one. The sockets listen, and the variable
        /// ``socketsVariable`` with this value tells the program which descriptors they are.
        case restart(path: String, sockets: String)
    }

    /// Serves until the body returns, or ``stop()`` is called, or nobody needs the agent any more; then answers what has arrived and ends.
    ///
    /// `KRB5_CONFIG` of this process names ``SSOAgentClient/RuntimeDirectory``'s krb5.conf, which is written here, before the first call of
    /// libkrb5.
    ///
    /// - Returns: Why it ended.
    /// - Throws: ``AgentError``, `SocketError`, or what makes the profiles or the kept tickets unusable.
    @discardableResult
    package func run(until end: @escaping @Sendable () async -> Void) async throws -> Ending {
        try makeDirectory()
        let lock = try await takeLock()
        defer { withExtendedLifetime(lock) {} }
        // Before they are read, so that no change is missed.
        let watch = FileWatch { [search = options.search] in search.places }
        let profiles = try await readProfiles()
        let current = CurrentExtension(try await options.makeExtension(profiles.profiles, cacheSocket))
        // Before there are sockets: a program that finds one counts on the file that leads to it.
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
        // The sockets of one that starts again stay where clients find them.
        var staysInPlace = false
        defer { if !staysInPlace { removeOwnFiles() } }
        if let place = found.first(where: { $0.socket == .caches }), let ownCaches, !ownCaches.lead(to: place.path) {
            throw AgentError(.directoryUnusable, "\(place.path): the socket was removed as soon as it was made. Start the agent again.")
        }
        let reason = try await serve(current, profiles, watch, &sockets, until: end)
        if case .restart = reason { staysInPlace = true }
        return reason
    }

    /// Writes the krb5.conf that leads programs to sockets on which a service manager listens before there is an agent. One that runs has
    /// written it: then nothing is done.
    ///
    /// - Throws: ``AgentError``, or what makes the profiles unusable.
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
        guard PrivateDirectory(path: options.runtime.path).make() else {
            throw AgentError(
                .directoryUnusable,
                "\(options.runtime.path): the folder can't be made, or others can write to it. Set KSSO_RUNTIME_DIR."
            )
        }
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
            journal.failure("the system's default cache does not answer, so its tickets are not taken over yet.")
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
        notification.ready("serves in \(options.runtime.path)")
        let work = Task { [self] in
            await withTaskGroup(of: Void.self) { group in
                group.addTask { await keeper.run() }
                if let program = options.runProgram { group.addTask { await eventRuns.run(program) } }
                group.addTask { await login.run { keeper.note($0) } }
                // A command signs out in a process of its own; no key outlives its session in this one.
                group.addTask {
                    for await _ in losses.stream {
                        current.value.forgetServiceTickets()
                        await Self.endStaleExchanges(of: api, current)
                    }
                }
                // If the caches are the system's, only the keeper sees that one is gone.
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
        // Of an agent that starts again they listen meanwhile.
        if case .restart = reason {} else { closeCopies() }
        notification.stopping()
        work.cancel()
        // The requests that wait for it are answered.
        signIn?.stop()
        await Self.wait(atMost: Self.workLimit) { await work.value }
        // The streams of events end first: the API waits for every response.
        events.close()
        await Self.wait(atMost: Self.shutDownLimit) { await api.shutDown() }
        await Self.wait(atMost: Self.shutDownLimit) { await caches?.shutDown() }
        return reason
    }

    /// How long the system's default cache has to hand over its tickets. It may be served by a process that does not answer.
    private static let importLimit = Duration.seconds(5)
    /// How long what looks after the sessions has to end. A call of libkrb5 that waits for another process's cache cannot be canceled.
    private static let workLimit = Duration.seconds(3)
    /// How long each server has to answer what has arrived; longer than its own grace period.
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
                    // A program opens a connection for each cache that it uses.
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

    /// The krb5.conf of the programs that share the tickets, and the agent's own.
    func writeConfiguration(_ policy: DecisionPolicy) throws(AgentError) {
        let file = KerberosConfigurationFile(
            policy.configurations,
            defaultRealm: policy.defaultConfiguration?.realm,
            // Most clients bind nothing, and a server that checks bindings would refuse their tokens if they claimed to know them.
            bindsTokens: false,
            cacheSocket: options.mode == .agent ? options.runtime.kcmSocket : nil
        )
        do {
            try Data(file.text.utf8).write(to: URL(filePath: options.runtime.sessionConfiguration), options: .atomic)
            configuration.withLock { $0 = FileIdentity(path: options.runtime.sessionConfiguration) }
        } catch {
            throw AgentError(.directoryUnusable, "\(options.runtime.sessionConfiguration): the file can't be written.")
        }
    }
}

extension Agent {
    /// Puts into the journal why nobody can be asked for a password: once, however many programs wait for one.
    func notePromptFaults() async {
        guard let faults = options.promptFaults else { return }
        let beginning = "nobody can be asked for a password: "
        var last: String?
        for await fault in faults where fault != last {
            if let fault { journal.failure(beginning + fault) } else { journal.settle(beginning, "passwords are asked for again.") }
            last = fault
        }
    }
}
