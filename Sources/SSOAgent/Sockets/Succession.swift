internal import Foundation
internal import KCM
package import SSOAgentClient
internal import Synchronization
internal import SystemSupport

extension Agent {
    /// The time limit for a predecessor to stop after SIGTERM; longer than a complete shutdown takes.
    private static let predecessorLimit = Duration.seconds(18)
    /// The time limit for a predecessor to disappear after SIGKILL.
    private static let killLimit = Duration.seconds(5)

    /// Takes the lock of the runtime directory.
    ///
    /// If systemd starts this agent, systemd has bound its sockets in place of those of a running agent. That agent no longer serves any
    /// program, so it is stopped, and this agent serves its tickets, which are on disk.
    ///
    /// - Throws: ``AgentError``: `alreadyRunning` if systemd did not start this agent, or if the other agent does not stop.
    func takeLock() async throws -> AgentLock {
        let directory = options.runtime.path
        do throws(AgentError) {
            return try AgentLock(options.runtime)
        } catch {
            let inherited = InheritedSockets(environment: options.environment, processID: getpid())
            guard error.code == .alreadyRunning, !inherited.descriptors.isEmpty else { throw error }
        }
        let predecessor = options.runtime.lockHolder
        if let predecessor {
            journal.note(
                "\(directory): systemd starts this agent in place of another one (process \(predecessor.processID)), which is terminated."
            )
            if kill(predecessor.processID, SIGTERM) != 0 {
                journal.failure("process \(predecessor.processID) cannot be terminated: \(unsafe String(cString: strerror(errno))).")
            }
            // A suspended process receives the SIGTERM when it continues.
            kill(predecessor.processID, SIGCONT)
        }
        if let lock = try await lock(within: Self.predecessorLimit) { return lock }
        if let predecessor, options.runtime.lockHolder?.processID == predecessor.processID {
            journal.failure("the terminated agent (process \(predecessor.processID)) still runs, so it is killed.")
            kill(predecessor.processID, SIGKILL)
            if let lock = try await lock(within: Self.killLimit) { return lock }
        }
        throw AgentError(
            .alreadyRunning,
            "another agent holds the lock in \(directory) and does not exit. See: fuser \(directory)/agent.lock"
        )
    }

    private func lock(within limit: Duration) async throws -> AgentLock? {
        let end = ContinuousClock.now + limit
        while ContinuousClock.now < end {
            do throws(AgentError) {
                return try AgentLock(options.runtime)
            } catch {
                guard error.code == .alreadyRunning else { throw error }
            }
            try await Task.sleep(for: .milliseconds(20))
        }
        return nil
    }

    /// Periodically checks that clients find this agent, until the task is canceled.
    func watchSockets(_ caches: KCMServer?, _ api: AgentAPI) async {
        let folder = FileIdentity(path: options.runtime.path)
        while (try? await Task.sleep(for: Self.lookInterval)) != nil {
            // If the runtime directory is gone, the idle check stops the agent.
            guard FileIdentity(path: options.runtime.path) == folder else { continue }
            guard await keepsSockets(caches, api) else { return stop() }
        }
    }

    /// Each check costs two calls of lstat(2).
    private static let lookInterval = Duration.seconds(2)

    /// Checks whether clients still find this agent. Binds lost sockets again, and reports those that cannot be bound.
    ///
    /// - Returns: False if another process serves the clients now, so that this agent has to stop.
    private func keepsSockets(_ caches: KCMServer?, _ api: AgentAPI) async -> Bool {
        for (index, place) in places.withLock({ $0 }).enumerated() {
            switch place.state {
            case .unchanged:
                if reportedLoss(of: place, nil) != nil { journal.settle(place.path, "\(place.path): the socket is served again.") }
            case .served(let listener):
                let name = if case .other(let name) = listener.kind { name } else { "an agent" }
                journal.note(
                    "\(place.path): \(name) (process \(listener.processID)) listens there now, so this agent hands over and exits."
                )
                return false
            case .lost:
                do {
                    try await bindAgain(index, place, caches, api)
                } catch {
                    let sentence = "\(error)"
                    if reportedLoss(of: place, sentence) != sentence {
                        journal.failure("\(sentence) Until then, clients cannot find this agent.")
                    }
                }
            }
        }
        return true
    }

    private func bindAgain(_ index: Int, _ place: SocketPlace, _ caches: KCMServer?, _ api: AgentAPI) async throws {
        guard FileIdentity(path: place.path) != place.file else { return try place.makeLink() }
        let socket = try ListeningSocket.bind(path: place.path)
        let (file, copy) = (socket.file, socket.duplicate()?.take())
        do {
            try await serve(socket, at: place, caches, api)
        } catch {
            // Clients must not find a socket that no process serves, because they would wait forever.
            copy.map { _ = close($0) }
            file?.unlink(place.path)
            throw error
        }
        places.withLock {
            $0[index].copy.map { _ = close($0) }
            $0[index].file = file
            $0[index].isOwn = true
            $0[index].copy = copy
        }
        _ = reportedLoss(of: place, nil)
        let sentence = "\(place.path): the socket was lost, and was bound again."
        if place.isOwn {
            journal.settle(place.path, sentence)
        } else {
            journal.failure("\(sentence) systemd does not know the new socket; restart the socket unit.")
        }
    }

    // The optimizer of Swift 6.3.1 crashes if this is inlined into a function that catches its errors.
    @inline(never) private func serve(
        _ socket: consuming ListeningSocket,
        at place: SocketPlace,
        _ caches: KCMServer?,
        _ api: AgentAPI
    ) async throws {
        switch place.socket {
        // The engine's next call uses the new socket, because the former one is closed after that.
        case .caches: try await caches?.serve(socket) { [ownCaches] in _ = ownCaches?.lead(to: place.path) }
        case .requests: try await api.serve(socket)
        }
    }

    /// Stores the last failure reported for a socket, and returns the previous one.
    private func reportedLoss(of place: SocketPlace, _ sentence: String?) -> String? {
        losses.withLock { losses in
            defer { losses[place.path] = sentence }
            return losses[place.path]
        }
    }

    /// Stops the agent when an upgrade has replaced its program file, so that the new program serves the clients.
    func watchProgram() async {
        guard var program = ProgramFile() else { return }
        while (try? await Task.sleep(for: Self.programInterval)) != nil {
            guard program.wasReplaced() else { continue }
            journal.note("\(program.path) was replaced, so the agent restarts with the new program.")
            return stop(isSystemds ? .replaced : .restart(path: program.path, sockets: socketsValue))
        }
    }

    /// How often the program file is checked; an upgrade need not be detected at once.
    private static let programInterval = Duration.seconds(5)

    /// Whether systemd started this process and starts the next one.
    private var isSystemds: Bool {
        let process = "\(getpid())"
        return options.environment["SYSTEMD_EXEC_PID"] == process || options.environment["LISTEN_PID"] == process
    }

    /// The variable that passes the sockets' descriptors to a program that this process executes.
    package static let socketsVariable = InheritedSockets.ownVariable

    private var socketsValue: String {
        let copies = places.withLock { $0.compactMap(\.copy) }
        return ([getpid()] + copies).map(String.init).joined(separator: ":")
    }

    /// Closes the duplicate descriptors, so that no client waits at a socket that this process no longer serves.
    func closeCopies() {
        let copies = places.withLock { places in
            defer { for index in places.indices { places[index].copy = nil } }
            return places.compactMap(\.copy)
        }
        for copy in copies { close(copy) }
    }

    /// Removes the agent's own sockets and the krb5.conf that names them, so that the session's programs use the system's default cache
    /// again. Files that have replaced them stay, and so do systemd's sockets.
    func removeOwnFiles() {
        let own = places.withLock { $0 }.filter(\.isOwn)
        for place in own { place.removeOwnFile() }
        guard !own.isEmpty, !own.contains(where: { RuntimeDirectory.listener(atPath: $0.path) != nil }) else { return }
        configuration.withLock { $0 }?.unlink(options.runtime.sessionConfiguration)
    }

    /// Waits for work that may block on another process's cache, because libkrb5 has no time limit there. Work that exceeds the limit
    /// continues in the background.
    ///
    /// - Returns: Whether the work has finished.
    @discardableResult
    static func wait(atMost limit: Duration, _ work: @escaping @Sendable () async -> Void) async -> Bool {
        await firstResult(within: limit, cancelsLateWork: false, work) != nil
    }
}

/// Keeps a second agent out of a runtime folder for as long as the first one lives, however it ends (flock(2)).
package struct AgentLock: ~Copyable {
    private let descriptor: Int32

    /// - Throws: ``AgentError``: ``AgentError/Code/alreadyRunning``, or ``AgentError/Code/directoryUnusable``.
    package init(_ runtime: RuntimeDirectory) throws(AgentError) {
        let path = runtime.lockFile
        descriptor = unsafe open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard descriptor >= 0 else {
            throw AgentError(.directoryUnusable, "\(path): the file cannot be created: \(unsafe String(cString: strerror(errno))).")
        }
        guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
            throw AgentError(.alreadyRunning, "an agent is already running in \(runtime.path). See: ksso agent status")
        }
    }

    deinit { close(descriptor) }
}

/// The file that this process was started from, used to detect that an upgrade has replaced it.
package struct ProgramFile: Sendable {
    /// The path of the file when the process started.
    package let path: String
    private let started: FileIdentity
    private var candidate: FileIdentity?

    /// Finds the file of this process; nil if /proc does not name it, or it has been replaced already.
    package init?() {
        let link = "/proc/self/exe"
        guard let path = try? FileManager.default.destinationOfSymbolicLink(atPath: link), let file = FileIdentity(path: path),
            file == FileIdentity(path: link, followsLinks: true)
        else { return nil }
        self.path = path
        started = file
    }

    /// Checks the file. A replacement counts only if two checks find the same file, because a program that is being copied is not complete.
    ///
    /// - Returns: Whether another program has replaced it.
    package mutating func wasReplaced() -> Bool {
        guard let file = FileIdentity(path: path), file != started, unsafe access(path, X_OK) == 0 else {
            candidate = nil
            return false
        }
        defer { candidate = file }
        return candidate == file
    }
}
