internal import Foundation
internal import KCM
internal import KerberosEngine
internal import SSOAgentClient
internal import SignOnPolicy
internal import Synchronization
internal import SystemSupport

/// The files by which programs find the agent: its sockets, and the krb5.conf that names them.
final class RuntimeFiles: Sendable {
    private let directory: RuntimeDirectory
    private let journal: Journal
    /// The paths at which clients find the sockets.
    private let places = Mutex<[SocketPlace]>([])
    /// The last failure reported for each lost socket, by path.
    private let losses = Mutex<[String: String]>([:])
    /// The identity of krb5.conf as this agent last wrote it.
    private let configuration = Mutex<FileIdentity?>(nil)
    /// Whether the agent serves caches of its own.
    private let hasCaches: Bool
    /// By which this process uses its own caches; nil if there are none, or /proc is not mounted.
    private let ownCaches: SocketHandle?

    init(_ options: AgentOptions, journal: Journal) {
        directory = options.runtime
        self.journal = journal
        hasCaches = options.mode == .agent
        ownCaches = hasCaches ? SocketHandle() : nil
    }

    /// The path at which the engine reaches the socket of the agent's own caches; nil if the tickets are in the system's default cache.
    var cacheSocket: String? { hasCaches ? ownCaches?.path ?? directory.kcmSocket : nil }

    /// Adds the sockets that the agent starts to serve.
    func add(_ sockets: [SocketPlace]) { places.withLock { $0 = sockets } }

    /// Makes ``cacheSocket`` lead to the agent's own caches.
    ///
    /// - Throws: ``AgentError`` if another program has removed the socket.
    func connectOwnCaches() throws(AgentError) {
        guard let place = places.withLock({ $0.first { $0.socket == .caches } }), let ownCaches else { return }
        guard ownCaches.lead(to: place.path) else {
            throw AgentError(
                .directoryUnusable,
                "\(place.path): the socket was removed immediately after it was created. Start the agent again."
            )
        }
    }

    /// Writes the krb5.conf for the agent itself and for the programs that share its tickets.
    func writeConfiguration(_ policy: DecisionPolicy) throws(AgentError) {
        let file = KerberosConfigurationFile(
            policy.configurations,
            defaultRealm: policy.defaultConfiguration?.realm,
            // Most clients send no channel bindings. A server that checks them would refuse tokens that claim support for them.
            bindsTokens: false,
            cacheSocket: hasCaches ? directory.kcmSocket : nil
        )
        do {
            try Data(file.text.utf8).write(to: URL(filePath: directory.sessionConfiguration), options: .atomic)
            configuration.withLock { $0 = FileIdentity(path: directory.sessionConfiguration) }
        } catch {
            throw AgentError(.directoryUnusable, "\(directory.sessionConfiguration): the file cannot be written.")
        }
    }

    /// Removes the krb5.conf, unless another file has replaced it.
    func removeConfiguration() { configuration.withLock { $0 }?.unlink(directory.sessionConfiguration) }

    /// Removes the agent's own sockets and the krb5.conf that names them, so that the session's programs use the system's default cache
    /// again. Files that have replaced them stay, and so do systemd's sockets.
    func removeOwnFiles() {
        let own = places.withLock { $0 }.filter(\.isOwn)
        for place in own { place.removeOwnFile() }
        guard !own.isEmpty, !own.contains(where: { RuntimeDirectory.listener(atPath: $0.path) != nil }) else { return }
        removeConfiguration()
    }

    /// The descriptors of the agent's own sockets for a program that this process executes.
    var inheritance: String {
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
}

extension RuntimeFiles {
    /// Each check costs two calls of lstat(2).
    private static let lookInterval = Duration.seconds(2)

    /// Periodically checks that clients find this agent, until the task is canceled or another process serves them.
    ///
    /// - Returns: Whether another process serves the clients now, so that this agent has to stop.
    func watch(_ caches: KCMServer?, _ api: AgentAPIServer) async -> Bool {
        let folder = FileIdentity(path: directory.path)
        while (try? await Task.sleep(for: Self.lookInterval)) != nil {
            // If the runtime directory is gone, the idle check stops the agent.
            guard FileIdentity(path: directory.path) == folder else { continue }
            guard await keepsSockets(caches, api) else { return true }
        }
        return false
    }

    /// Checks whether clients still find this agent. Binds lost sockets again, and reports those that cannot be bound.
    ///
    /// - Returns: False if another process serves the clients now.
    private func keepsSockets(_ caches: KCMServer?, _ api: AgentAPIServer) async -> Bool {
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

    private func bindAgain(_ index: Int, _ place: SocketPlace, _ caches: KCMServer?, _ api: AgentAPIServer) async throws {
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
        _ api: AgentAPIServer
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
}
