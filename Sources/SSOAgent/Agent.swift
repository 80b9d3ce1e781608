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

    /// An agent that does nothing yet.
    package init(_ options: AgentOptions) { self.options = options }

    /// Ends ``run(until:)`` in order. From any thread.
    package func stop() { ending.continuation.yield() }

    /// Serves until the body returns, or ``stop()`` is called, or nobody needs the agent any more; then answers what has arrived and ends.
    ///
    /// `KRB5_CONFIG` of this process names ``SSOAgentClient/RuntimeDirectory``'s krb5.conf, which is written here, before the first call of
    /// libkrb5.
    ///
    /// - Throws: ``AgentError``, `SocketError`, or what makes the profiles or the kept tickets unusable.
    package func run(until end: @escaping @Sendable () async -> Void) async throws {
        guard PrivateDirectory(path: options.runtime.path).make() else {
            throw AgentError(
                .directoryUnusable,
                "\(options.runtime.path): the folder can't be made, or others can write to it. Set KSSO_RUNTIME_DIR."
            )
        }
        let lock = try AgentLock(directory: options.runtime.path)
        defer { withExtendedLifetime(lock) {} }
        let current = CurrentExtension(try await options.makeExtension())
        // Before anybody can connect: whoever finds a socket finds the file that leads to it.
        try writeConfiguration(current.value.policy)
        var sockets = try openSockets()
        // With the sockets goes the file that leads to them: the session's programs then have the system's default cache. Where systemd
        // listens, the next program starts the next agent.
        let leftovers = sockets.ownPaths.isEmpty ? [] : sockets.ownPaths + [options.runtime.sessionConfiguration]
        defer { for path in leftovers { try? FileManager.default.removeItem(atPath: path) } }
        try await serve(current, &sockets, until: end)
    }

    private func openSockets() throws -> AgentSockets {
        do {
            return try AgentSockets(options)
        } catch {
            try? FileManager.default.removeItem(atPath: options.runtime.sessionConfiguration)
            throw error
        }
    }

    private func serve(_ current: CurrentExtension, _ sockets: inout AgentSockets, until end: @escaping @Sendable () async -> Void)
        async throws
    {
        let activity = Activity()
        let keeper = SessionKeeper(current, events: events, network: NetworkWatch()?.changes, log: options.log)
        let access = AccessPolicy(owner: geteuid(), configurations: current.value.policy.configurations)
        let losses = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        let caches = try await serveCaches(
            sockets.kcm.take(),
            access: access,
            keeper: keeper,
            activity: activity,
            losses: losses.continuation
        )
        await importTickets()
        let signIn = options.keytab.map { KeytabSignIn($0, current: current, log: options.log) }
        let api = AgentAPI(
            extension: current.value,
            events: events,
            access: access,
            facts: { [started] in await Self.facts(started: started, caches: caches) },
            stop: { [weak self] in self?.stop() },
            sessionsChanged: { keeper.poke() },
            signsIn: { await signIn?.hasSignedIn() ?? false },
            used: { principal in
                activity.note()
                keeper.noteUse(of: principal)
            }
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
            // Whoever signed out did so in another process; no key outlives its session in this one.
            group.addTask {
                for await _ in losses.stream {
                    current.value.forgetServiceTickets()
                    await Self.endStaleExchanges(of: api, current)
                }
            }
            group.addTask { [self] in await lookAround(api, current, activity) }
            if let signIn { group.addTask { await signIn.run(notification) } }
            await waitForEnd(end)
            notification.stopping()
            group.cancelAll()
        }
        // The streams of events end first: the API waits for every response.
        events.close()
        await api.shutDown()
        await caches?.shutDown()
    }

    private func serveCaches(
        _ socket: consuming ListeningSocket?,
        access: AccessPolicy,
        keeper: SessionKeeper,
        activity: Activity,
        losses: AsyncStream<Void>.Continuation
    ) async throws -> KCMServer? {
        guard let socket = socket.take() else { return nil }
        let server = try KCMServer(
            KCMServer.Options(
                directory: options.tickets,
                isPermitted: { peer in
                    guard access.permitsCaches(peer) else { return false }
                    // A program opens a connection for each cache that it uses.
                    if peer.processID != getpid(), activity.note() { keeper.noteUse(of: nil) }
                    return true
                },
                observer: { event in
                    activity.note()
                    if [.destroyed, .initialized, .removed].contains(event.kind) { losses.yield() }
                    keeper.poke()
                },
                writeFailure: { [options] in options.log("a ticket was refused: \($0)") }
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

    private static func facts(started: Date, caches: KCMServer?) async -> StatusDocument.Process {
        var process = StatusDocument.Process(processID: getpid(), started: started)
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
