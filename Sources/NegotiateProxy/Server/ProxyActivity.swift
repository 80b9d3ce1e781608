internal import NIOCore
internal import Synchronization

internal import struct Foundation.Date

/// The open connections of a running proxy, and what its status reports.
final class ProxyActivity: Sendable {
    private struct State {
        var status: ProxyStatus
        var channels: [ObjectIdentifier: any Channel] = [:]
        /// The connections that get only a page with the reason for which they are refused.
        var refused: [ObjectIdentifier: any Channel] = [:]
        /// The connections whose clients have sent no request that is not answered.
        var idle: Set<ObjectIdentifier> = []
        var refusalNoted: ContinuousClock.Instant?
        var isStopping = false
        var whenEmpty: CheckedContinuation<Void, Never>?
    }

    private static let maximumFailures = 20
    private static let maximumRefused = 16
    private static let maximumUpstreams = 64
    private static let refusalInterval = Duration.seconds(60)

    private let state: Mutex<State>

    init() { state = Mutex(State(status: ProxyStatus(startedAt: Date()))) }

    var status: ProxyStatus { state.withLock { $0.status } }

    /// Whether a connection may carry no further request.
    var isStopping: Bool { state.withLock { $0.isStopping } }

    func listens(at addresses: [String]) { state.withLock { $0.status.listeners = addresses } }

    /// Adds a client's connection, until it closes.
    ///
    /// - Returns: Whether it is within the limit. Otherwise it is not added.
    func add(_ channel: any Channel, limit: Int) -> Bool {
        let identifier = ObjectIdentifier(channel)
        let isWithinLimit = state.withLock { state in
            guard state.channels.count < limit else { return false }
            state.channels[identifier] = channel
            state.status.openClients = state.channels.count
            return true
        }
        if isWithinLimit { channel.closeFuture.whenComplete { _ in self.remove(identifier) } }
        return isWithinLimit
    }

    /// Adds a connection that is refused, until it closes. It is no client, so that other users cannot take the places of clients.
    ///
    /// - Returns: Whether few enough are open that this one can get a page with the reason.
    func addRefused(_ channel: any Channel) -> Bool {
        let identifier = ObjectIdentifier(channel)
        let isWithinLimit = state.withLock { state in
            guard state.refused.count < Self.maximumRefused else { return false }
            state.refused[identifier] = channel
            return true
        }
        if isWithinLimit { channel.closeFuture.whenComplete { _ in self.state.withLock { $0.refused[identifier] = nil } } }
        return isWithinLimit
    }

    /// Whether a refused connection is recorded: one in each minute, so that other users can neither fill the journal nor displace the
    /// failures of clients.
    func mayNoteRefusal() -> Bool {
        let now = ContinuousClock.now
        return state.withLock { state in
            if let last = state.refusalNoted, now - last < Self.refusalInterval { return false }
            state.refusalNoted = now
            return true
        }
    }

    private func remove(_ identifier: ObjectIdentifier) {
        let waiting = state.withLock { state -> CheckedContinuation<Void, Never>? in
            state.channels[identifier] = nil
            state.idle.remove(identifier)
            state.status.openClients = state.channels.count
            guard state.channels.isEmpty else { return nil }
            defer { state.whenEmpty = nil }
            return state.whenEmpty
        }
        waiting?.resume()
    }

    /// Records that a client may send a request; false if the proxy stops.
    func awaitsRequest(_ channel: any Channel) -> Bool {
        state.withLock { state in
            let identifier = ObjectIdentifier(channel)
            // A connection that has closed already is not removed again.
            guard !state.isStopping, state.channels[identifier] != nil else { return false }
            state.idle.insert(identifier)
            return true
        }
    }

    func noteRequest(_ channel: any Channel) {
        state.withLock { state in
            state.idle.remove(ObjectIdentifier(channel))
            state.status.requests += 1
        }
    }

    /// Counts a tunnel until the client's connection closes.
    func noteTunnel(_ channel: any Channel) {
        state.withLock { state in
            state.status.openTunnels += 1
            state.status.tunnels += 1
        }
        channel.closeFuture.whenComplete { _ in self.state.withLock { $0.status.openTunnels -= 1 } }
    }

    func note(_ failure: ProxyFailure, host: String?) {
        let entry = ProxyStatus.Failure(date: Date(), host: host, status: failure.status, message: failure.message)
        state.withLock { state in
            state.status.failures.insert(entry, at: 0)
            if state.status.failures.count > Self.maximumFailures { state.status.failures.removeLast() }
        }
    }

    func note(_ server: ProxyServer, isReachable: Bool) {
        let entry = ProxyStatus.Upstream(server: server.description, isReachable: isReachable, checkedAt: Date())
        state.withLock { state in
            if let index = state.status.upstreams.firstIndex(where: { $0.server == entry.server }) {
                state.status.upstreams[index] = entry
            } else {
                state.status.upstreams.append(entry)
            }
            guard state.status.upstreams.count > Self.maximumUpstreams else { return }
            let oldest = state.status.upstreams.indices.min { state.status.upstreams[$0].checkedAt < state.status.upstreams[$1].checkedAt }
            if let oldest { state.status.upstreams.remove(at: oldest) }
        }
    }

    /// Closes idle connections and permits no further requests.
    func stop() {
        let idle = state.withLock { state in
            state.isStopping = true
            return state.idle.compactMap { state.channels[$0] }
        }
        for channel in idle { channel.close(promise: nil) }
    }

    func closeAll() {
        for channel in state.withLock({ Array($0.channels.values) + Array($0.refused.values) }) { channel.close(promise: nil) }
    }

    /// Waits until all connections have closed. For one caller.
    func waitUntilEmpty() async {
        await withCheckedContinuation { continuation in
            let isEmpty = state.withLock { state in
                if !state.channels.isEmpty { state.whenEmpty = continuation }
                return state.channels.isEmpty
            }
            if isEmpty { continuation.resume() }
        }
    }
}
