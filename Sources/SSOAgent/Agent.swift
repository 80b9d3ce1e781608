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
    private let ending = AsyncStream.makeStream(of: Void.self)
    let journal: Journal
    let reading = Mutex(Reading())
    let occasions = AsyncStream.makeStream(of: Occasion.self, bufferingPolicy: .bufferingNewest(1))

    /// An agent that does nothing yet.
    package init(_ options: AgentOptions) {
        self.options = options
        journal = Journal(options.log)
    }

    /// Ends ``run(until:)`` in order. From any thread.
    package func stop() { ending.continuation.yield() }

    /// Serves until the body returns, or ``stop()`` is called, or nobody needs the agent any more; then answers what has arrived and ends.
    ///
    /// `KRB5_CONFIG` of this process names ``SSOAgentClient/RuntimeDirectory``'s krb5.conf, which is written here, before the first call of
    /// libkrb5.
    ///
    /// - Throws: ``AgentError``, `SocketError`, or what makes the profiles or the kept tickets unusable.
    package func run(until end: @escaping @Sendable () async -> Void) async throws {
        try makeDirectory()
        let lock = try AgentLock(directory: options.runtime.path)
        defer { withExtendedLifetime(lock) {} }
        // Before they are read, so that no change is missed.
        let watch = FileWatch { [search = options.search] in search.places }
        let profiles = try await readProfiles()
        let current = CurrentExtension(try await options.makeExtension(profiles.profiles))
        var leftovers = [options.runtime.sessionConfiguration]
        defer { for path in leftovers { try? FileManager.default.removeItem(atPath: path) } }
        // Before there are sockets: whoever finds one counts on the file that leads to it.
        try writeConfiguration(current.value.policy)
        var sockets = try AgentSockets(options)
        // With the sockets goes the file that leads to them: the session's programs then have the system's default cache. Where systemd
        // listens, the next program starts the next agent.
        leftovers = sockets.ownPaths.isEmpty ? [] : sockets.ownPaths + leftovers
        try await serve(current, profiles, watch, &sockets, until: end)
    }

    /// Writes the krb5.conf that leads programs to sockets on which a service manager listens before there is an agent. One that runs has
    /// written it: then nothing is done.
    ///
    /// - Throws: ``AgentError``, or what makes the profiles unusable.
    package func prepare() async throws {
        try makeDirectory()
        do {
            let lock = try AgentLock(directory: options.runtime.path)
            defer { withExtendedLifetime(lock) {} }
            try await writeConfiguration()
        } catch let error as AgentError where error.code == .alreadyRunning {
            return
        }
    }

    private func writeConfiguration() async throws {
        let kerberos = try await options.makeExtension(try await readProfiles().profiles)
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
    ) async throws {
        let activity = Activity()
        let keeper = SessionKeeper(current, events: events, network: NetworkWatch()?.changes, log: journal.failure)
        let login = makeLoginWatch(current)
        let losses = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        let caches = try await serveCaches(
            sockets.kcm.take(),
            current,
            keeper: keeper,
            activity: activity,
            losses: losses.continuation
        )
        await importTickets()
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
            isScreenLocked: { login.isScreenLocked }
        )
        do {
            if let socket = sockets.api.take() { try await api.serve(socket) }
        } catch {
            await caches?.shutDown()
            throw error
        }
        let notification = ServiceNotification(environment: options.environment)
        notification.ready("serves in \(options.runtime.path)")
        await withTaskGroup(of: Void.self) { group in
            group.addTask { await keeper.run() }
            group.addTask { await login.run { keeper.note($0) } }
            // Whoever signed out did so in another process; no key outlives its session in this one.
            group.addTask {
                for await _ in losses.stream {
                    current.value.forgetServiceTickets()
                    await Self.endStaleExchanges(of: api, current)
                }
            }
            // Where the caches are the system's, only the keeper sees that one is gone.
            group.addTask { [events] in
                for await event in events.events() where event.kind == .signedOut { losses.continuation.yield() }
            }
            group.addTask { [self] in await followProfiles(profiles, watch, current, keeper, caches) }
            group.addTask { [self] in await lookAround(api, current, activity) }
            group.addTask { [self] in await notePromptFaults() }
            if let signIn { group.addTask { await signIn.run(notification) } }
            await waitForEnd(end)
            notification.stopping()
            group.cancelAll()
            // The requests that wait for it are answered.
            signIn?.stop()
        }
        // The streams of events end first: the API waits for every response.
        events.close()
        await api.shutDown()
        await caches?.shutDown()
    }

    private func serveCaches(
        _ socket: consuming ListeningSocket?,
        _ current: CurrentExtension,
        keeper: SessionKeeper,
        activity: Activity,
        losses: AsyncStream<Void>.Continuation
    ) async throws -> KCMServer? {
        guard let socket = socket.take() else { return nil }
        let server = try KCMServer(
            KCMServer.Options(
                directory: options.tickets,
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
                writeFailure: { [journal] in journal.failure("a ticket was refused: \($0)") }
            )
        )
        try await server.serve(socket)
        return server
    }

    private func waitForEnd(_ end: @escaping @Sendable () async -> Void) async {
        let waiting = Task { [ending] in
            await end()
            ending.continuation.yield()
        }
        for await _ in ending.stream { break }
        waiting.cancel()
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
        } catch {
            throw AgentError(.directoryUnusable, "\(options.runtime.sessionConfiguration): the file can't be written.")
        }
    }
}
