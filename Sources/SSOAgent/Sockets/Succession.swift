internal import Foundation
internal import KCM
package import SSOAgentClient
internal import Synchronization
internal import UnixSystem

extension Agent {
    /// How long a predecessor has to end by itself. Longer than a whole shutdown takes.
    private static let predecessorLimit = Duration.seconds(18)
    /// How long the kernel has to end one that was killed.
    private static let killLimit = Duration.seconds(5)

    /// Takes the lock of the runtime folder.
    ///
    /// systemd binds its sockets in place of those of an agent that is at work. That one serves no program any more, so it is stopped, and
    /// its tickets, which are on disk, are served by this one.
    ///
    /// - Throws: ``AgentError``: `alreadyRunning` if systemd did not start this agent, or the other one does not end.
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
                "\(directory): systemd starts this agent in place of another one (process \(predecessor.processID)), which is stopped."
            )
            if kill(predecessor.processID, SIGTERM) != 0 {
                journal.failure("process \(predecessor.processID) can't be stopped: \(unsafe String(cString: strerror(errno))).")
            }
            // One that is suspended takes the signal then.
            kill(predecessor.processID, SIGCONT)
        }
        if let lock = try await lock(within: Self.predecessorLimit) { return lock }
        if let predecessor, options.runtime.lockHolder?.processID == predecessor.processID {
            journal.failure("the agent that was stopped (process \(predecessor.processID)) still runs, so it is killed.")
            kill(predecessor.processID, SIGKILL)
            if let lock = try await lock(within: Self.killLimit) { return lock }
        }
        throw AgentError(
            .alreadyRunning,
            "another agent keeps the lock in \(directory) and does not end. See: fuser \(directory)/agent.lock"
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

    /// Sees that clients find this agent, for as long as it serves.
    func watchSockets(_ caches: KCMServer?, _ api: AgentAPI) async {
        let folder = FileIdentity(path: options.runtime.path)
        while (try? await Task.sleep(for: Self.lookInterval)) != nil {
            // Without its folder the agent ends.
            guard FileIdentity(path: options.runtime.path) == folder else { continue }
            guard await keepsSockets(caches, api) else { return stop() }
        }
    }

    /// A look costs two calls of lstat(2).
    private static let lookInterval = Duration.seconds(2)

    /// Looks whether clients still find this agent. Binds again what is lost, and reports what cannot be bound.
    ///
    /// - Returns: False if another process serves them now, so that this agent has to end.
    private func keepsSockets(_ caches: KCMServer?, _ api: AgentAPI) async -> Bool {
        for (index, place) in places.withLock({ $0 }).enumerated() {
            switch place.state {
            case .unchanged:
                if reportedLoss(of: place, nil) != nil { journal.settle(place.path, "\(place.path): the socket is served again.") }
            case .served(let listener):
                let name = if case .other(let name) = listener.kind { name } else { "an agent" }
                journal.note("\(place.path): \(name) (process \(listener.processID)) listens there now, so this agent hands over and ends.")
                return false
            case .lost:
                do {
                    try await bindAgain(index, place, caches, api)
                } catch {
                    let sentence = "\(error)"
                    if reportedLoss(of: place, sentence) != sentence {
                        journal.failure("\(sentence) Until then clients do not find this agent.")
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
            // Clients must not find a socket that no one serves: they would wait there for good.
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
        let sentence = "\(place.path): the socket was lost, and is bound again."
        if place.isOwn {
            journal.settle(place.path, sentence)
        } else {
            journal.failure("\(sentence) systemd does not know of it; restart the socket's unit.")
        }
    }

    // The optimiser of Swift 6.3.1 crashes on it where it is inlined into a function that catches its errors.
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

    /// Remembers what was reported of a socket, and returns what was before.
    private func reportedLoss(of place: SocketPlace, _ sentence: String?) -> String? {
        losses.withLock { losses in
            defer { losses[place.path] = sentence }
            return losses[place.path]
        }
    }

    /// Ends the agent when an upgrade has replaced the file of its program, so that the new one serves its clients.
    func watchProgram() async {
        guard var program = ProgramFile() else { return }
        while (try? await Task.sleep(for: Self.programInterval)) != nil {
            guard program.wasReplaced() else { continue }
            journal.note("\(program.path) was replaced, so the agent starts again with the new program.")
            return stop(isSystemds ? .replaced : .restart(path: program.path, sockets: socketsValue))
        }
    }

    /// An upgrade need not be seen at once.
    private static let programInterval = Duration.seconds(5)

    /// Whether systemd has started this process and starts the next one.
    private var isSystemds: Bool {
        let process = "\(getpid())"
        return options.environment["SYSTEMD_EXEC_PID"] == process || options.environment["LISTEN_PID"] == process
    }

    /// The variable by which a program that takes this process's place learns of the sockets.
    package static let socketsVariable = InheritedSockets.ownVariable

    private var socketsValue: String {
        let copies = places.withLock { $0.compactMap(\.copy) }
        return ([getpid()] + copies).map(String.init).joined(separator: ":")
    }

    /// Lets no client wait at a socket that this process does not serve any more.
    func closeCopies() {
        let copies = places.withLock { places in
            defer { for index in places.indices { places[index].copy = nil } }
            return places.compactMap(\.copy)
        }
        for copy in copies { close(copy) }
    }

    /// Removes what leads to this agent: its own sockets, and with them the krb5.conf that names them, so that the session's programs have
    /// the system's default cache. Files that have taken their places stay, and what is systemd's.
    func removeOwnFiles() {
        let own = places.withLock { $0 }.filter(\.isOwn)
        for place in own { place.removeOwnFile() }
        guard !own.isEmpty, !own.contains(where: { RuntimeDirectory.listener(atPath: $0.path) != nil }) else { return }
        configuration.withLock { $0 }?.unlink(options.runtime.sessionConfiguration)
    }

    /// Waits for work that may hang on a cache of another process: libkrb5 has no limit there. What takes longer is left behind.
    ///
    /// - Returns: Whether the work has ended.
    @discardableResult
    static func wait(atMost limit: Duration, _ work: @escaping @Sendable () async -> Void) async -> Bool {
        let ends = AsyncStream.makeStream(of: Bool.self, bufferingPolicy: .bufferingOldest(1))
        Task {
            await work()
            ends.continuation.yield(true)
        }
        let timer = Task {
            try await Task.sleep(for: limit)
            ends.continuation.yield(false)
        }
        defer { timer.cancel() }
        for await hasEnded in ends.stream { return hasEnded }
        return false
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
            throw AgentError(.directoryUnusable, "\(path): the file can't be made: \(unsafe String(cString: strerror(errno))).")
        }
        guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
            throw AgentError(.alreadyRunning, "an agent runs already in \(runtime.path). See: ksso agent status")
        }
    }

    deinit { close(descriptor) }
}

/// The file that this process was started from, so that a running agent notices that an upgrade has put another one in its place.
package struct ProgramFile: Sendable {
    /// Where the file was when the process started.
    package let path: String
    private let started: FileIdentity
    private var candidate: FileIdentity?

    /// The file of this process; nil if /proc does not say, or the file has been replaced already.
    package init?() {
        let link = "/proc/self/exe"
        guard let path = try? FileManager.default.destinationOfSymbolicLink(atPath: link), let file = FileIdentity(path: path),
            file == FileIdentity(path: link, followsLinks: true)
        else { return nil }
        self.path = path
        started = file
    }

    /// Looks at the file. A replacement counts if it is the same at two looks: a program that is being copied is not complete.
    ///
    /// - Returns: Whether another program is in its place.
    package mutating func wasReplaced() -> Bool {
        guard let file = FileIdentity(path: path), file != started, unsafe access(path, X_OK) == 0 else {
            candidate = nil
            return false
        }
        defer { candidate = file }
        return candidate == file
    }
}
