internal import EventLoopTasks
internal import NIOCore
internal import Synchronization

/// The requests that may wait for a person. A request is canceled when its connection closes, and all are canceled when the agent stops.
final class WaitingRequests: Sendable {
    private struct Entry {
        let channel: ObjectIdentifier
        let cancel: @Sendable () -> Void
    }

    private struct State {
        var requests: [Int: Entry] = [:]
        var lastNumber = 0
        var isEnding = false
    }

    private let state = Mutex(State())

    /// Runs a request's work on the connection's event loop.
    func run<Value: Sendable, Failure: Error>(
        on channel: any Channel,
        _ work: @escaping @Sendable () async throws(Failure) -> Value
    ) async throws(Failure) -> Value {
        let task = Task(executorPreference: EventLoopTaskExecutor(channel.eventLoop)) {
            do throws(Failure) {
                return Result<Value, Failure>.success(try await work())
            } catch {
                return .failure(error)
            }
        }
        let number = state.withLock { state -> Int? in
            guard !state.isEnding else { return nil }
            state.lastNumber += 1
            state.requests[state.lastNumber] = Entry(channel: ObjectIdentifier(channel)) { task.cancel() }
            return state.lastNumber
        }
        // The connection may have closed before the request was registered.
        if number == nil || !channel.isActive { task.cancel() }
        defer { if let number { state.withLock { $0.requests[number] = nil } } }
        return try await task.value.get()
    }

    /// Cancels the requests of a connection that has closed.
    func cancel(on channel: any Channel) {
        let key = ObjectIdentifier(channel)
        let requests = state.withLock { $0.requests.values.filter { $0.channel == key } }
        for request in requests { request.cancel() }
    }

    /// Cancels all requests, including later ones.
    func cancelAll() {
        let requests = state.withLock { state in
            state.isEnding = true
            return Array(state.requests.values)
        }
        for request in requests { request.cancel() }
    }
}
