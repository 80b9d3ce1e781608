internal import ExtensionProfile
internal import Foundation
internal import KCM
internal import KerberosEngine
internal import SSOAgentClient
internal import SystemSupport

/// One user's agent: a process that serves the credential caches and the API, and keeps the sessions alive.
///
/// The caches are served first, because the agent's own engine is a client of them, like every other program of the user.
package final class Agent: Sendable {
    let options: AgentOptions
    let journal: Journal
    let files: RuntimeFiles
    let profiles: ProfileFollower
    let events = EventHub()
    let started = Date()
    private let ending = AsyncStream.makeStream(of: Ending.self)

    /// Creates an agent that does not serve yet.
    package init(_ options: AgentOptions) {
        self.options = options
        journal = Journal(options.log)
        files = RuntimeFiles(options, journal: journal)
        profiles = ProfileFollower(options, journal: journal)
    }

    /// Reads the profiles again, even if no change was detected. Can be called from any thread.
    package func readProfilesAgain() { profiles.readAgain() }

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
        /// variable ``socketsVariable``, set to `sockets`, lists their descriptors for the new program.
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
        let watch = profiles.makeWatch()
        let found = try await profiles.read()
        let current = CurrentExtension(try await options.makeExtension(found.profiles, files.cacheSocket))
        // Written before the sockets exist, because a program that finds a socket relies on the krb5.conf that names it.
        try files.writeConfiguration(current.value.policy)
        var sockets: AgentSockets
        do {
            sockets = try AgentSockets(options)
        } catch {
            files.removeConfiguration()
            throw error
        }
        files.add(sockets.places)
        // When the agent restarts, its sockets stay where clients find them.
        var staysInPlace = false
        defer { if !staysInPlace { files.removeOwnFiles() } }
        try files.connectOwnCaches()
        let reason = try await serve(current, found, watch, &sockets, until: end)
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
            let kerberos = try await options.makeExtension(try await profiles.read().profiles, nil)
            try files.writeConfiguration(kerberos.policy)
        } catch let error as AgentError where error.code == .alreadyRunning {
            return
        }
    }

    private func makeDirectory() throws(AgentError) {
        let directory = PrivateDirectory(path: options.runtime.path)
        guard directory.make() else { throw AgentError(.directoryUnusable, directory.fault) }
    }

    private func serve(
        _ current: CurrentExtension,
        _ found: ProfileSearchResult,
        _ watch: FileWatch?,
        _ sockets: inout AgentSockets,
        until end: @escaping @Sendable () async -> Void
    ) async throws -> Ending {
        let losses = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        let serving = try await ServingAgent(self, current, sockets.kcm.take()) { losses.continuation.yield() }
        let api = AgentAPIServer(AgentAPI(current, delegate: serving, events: events))
        do {
            if let socket = sockets.api.take() { try await api.serve(socket) }
        } catch {
            await serving.caches?.shutDown()
            throw error
        }
        let notification = ServiceNotification(environment: options.environment)
        notification.ready("serving in \(options.runtime.path)", moved: serving.moved)
        let work = Task { [self] in
            await withTaskGroup(of: Void.self) { group in
                let keeper = serving.keeper
                group.addTask { await keeper.run() }
                if let network = NetworkWatch()?.changes {
                    group.addTask { for await _ in network { keeper.networkChanged() } }
                }
                if let program = keeper.reports.program { group.addTask { await program.run() } }
                group.addTask { await serving.login.run { keeper.note($0) } }
                if let cards = serving.cards { group.addTask { await cards.run() } }
                // A sign-out runs in another process, so this process must drop its service tickets when a cache goes away.
                group.addTask { for await _ in losses.stream { await serving.forgetSignedOut(api) } }
                // If the caches are the system's, only the keeper notices that one is gone.
                group.addTask { [events] in
                    for await event in events.events() where event.kind == .signedOut { losses.continuation.yield() }
                }
                group.addTask { [profiles] in await profiles.follow(found, watch) { await serving.activate($0) } }
                group.addTask { await serving.monitorIdleTime(api) }
                group.addTask { [self] in if await files.watch(serving.caches, api) { stop() } }
                group.addTask { [self] in await watchProgram() }
                group.addTask { [self] in await notePromptFaults() }
                if let signIn = serving.signIn { group.addTask { await signIn.run(notification) } }
            }
        }
        let reason = await waitForEnd(end)
        // If the agent restarts, the duplicate descriptors keep listening meanwhile.
        if case .restart = reason {} else { files.closeCopies() }
        notification.stopping()
        work.cancel()
        // This answers the requests that wait for the sign-in.
        serving.signIn?.stop()
        await finish("the background work", atMost: Self.workLimit) { await work.value }
        await finish("the server of the API", atMost: Self.shutDownLimit) { await api.shutDown() }
        await finish("the server of the credential caches", atMost: Self.shutDownLimit) { await serving.caches?.shutDown() }
        return reason
    }

    /// Waits for a part of the agent to stop, and logs if it reaches its time limit, because the agent then seems to hang.
    func finish(_ part: String, atMost limit: Duration, _ work: @escaping @Sendable () async -> Void) async {
        guard await !Self.wait(atMost: limit, work) else { return }
        let seconds = quantity(limit.components.seconds, "second")
        journal.failure("\(part) did not stop within \(seconds), so the agent exits without waiting for it any longer.")
    }

    /// The time limit for the background work to end. A libkrb5 call that waits for another process's cache cannot be canceled.
    private static let workLimit = Duration.seconds(3)
    /// The time limit for each server to answer the pending requests; longer than the server's own grace period.
    private static let shutDownLimit = Duration.seconds(7)

    private func waitForEnd(_ end: @escaping @Sendable () async -> Void) async -> Ending {
        let waiting = Task { [ending] in
            await end()
            ending.continuation.yield(.stopped)
        }
        defer { waiting.cancel() }
        for await reason in ending.stream { return reason }
        return .stopped
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
