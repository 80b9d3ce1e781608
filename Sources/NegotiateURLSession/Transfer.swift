import Foundation
import FoundationNetworking
import Synchronization

/// One task of a session: its head, then its body. The session's delegate feeds it, one task reads it.
final class Transfer: Sendable {
    /// How much of a body that nobody wants is read, so that its connection can be used again. Beyond it the connection is closed.
    private static let drainLimit = 65536

    private struct State {
        var head: Result<HTTPURLResponse, any Error>?
        var end: Result<Void, any Error>?
        var data = Data()
        var received = 0
        var isDrained = false
        var headReader: CheckedContinuation<HTTPURLResponse, any Error>?
        var endReader: CheckedContinuation<Void, any Error>?
        var stop: (@Sendable () -> Void)?
    }

    private let state = Mutex(State())
    private let download: DownloadedFile?

    /// - Parameter download: Where the body goes; nil for memory.
    init(download: DownloadedFile?) {
        self.download = download
    }

    // MARK: Reading

    /// The response's head, when it is there.
    func head() async throws -> HTTPURLResponse {
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                let known = state.withLock { state in
                    if state.head == nil { state.headReader = continuation }
                    return state.head
                }
                if let known { continuation.resume(with: known) }
            }
        } onCancel: {
            cancel()
        }
    }

    /// The body, when it is whole; empty if it went to a file.
    func data() async throws -> Data {
        try await end()
        return state.withLock { $0.data }
    }

    /// The body, when it is whole, in a file that is the caller's. Throws when it went to memory.
    func file() async throws -> URL {
        try await end()
        guard let download else { throw CocoaError(.fileNoSuchFile) }
        return try download.handOver()
    }

    /// Drops the body.
    func drain() async {
        let stop = state.withLock { state in
            state.isDrained = true
            state.data = Data()
            return state.received > Transfer.drainLimit
        }
        if stop { cancel() }
        // Whether it broke off is the next request's concern.
        try? await end()
    }

    /// Receives no more, and lets who waits go. Does nothing when everything is here.
    func cancel() {
        giveUp(CancellationError())
    }

    private func end() async throws {
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                let known = state.withLock { state in
                    if state.end == nil { state.endReader = continuation }
                    return state.end
                }
                if let known { continuation.resume(with: known) }
            }
        } onCancel: {
            cancel()
        }
    }

    // MARK: Feeding

    /// The task was made.
    ///
    /// - Parameter stop: Cancels it. It must not wait.
    /// - Returns: False when nobody wants it any more.
    func begin(stop: @escaping @Sendable () -> Void) -> Bool {
        state.withLock { state in
            guard state.end == nil else { return false }
            state.stop = stop
            return true
        }
    }

    func receive(_ response: HTTPURLResponse) {
        let reader = state.withLock { state in
            guard state.head == nil else { return CheckedContinuation<HTTPURLResponse, any Error>?.none }
            state.head = .success(response)
            defer { state.headReader = nil }
            return state.headReader
        }
        reader?.resume(returning: response)
    }

    /// Called by one thread at a time, so that pieces are written in their order without a lock.
    func receive(_ piece: Data) {
        let (isWanted, isTooMuch) = state.withLock { state in
            guard state.end == nil else { return (false, false) }
            state.received += piece.count
            if !state.isDrained, download == nil { state.data.append(piece) }
            return (!state.isDrained, state.isDrained && state.received > Transfer.drainLimit)
        }
        if isTooMuch { return cancel() }
        guard isWanted, let download else { return }
        do {
            try download.append(piece)
        } catch {
            giveUp(error)
        }
    }

    /// The task ended. Without a head before, the response is the head.
    func finish(_ response: HTTPURLResponse?) {
        _ = end(head: response.map { .success($0) } ?? .failure(URLError(.badServerResponse)), .success(()))
    }

    /// The task failed.
    func fail(_ error: any Error) {
        _ = end(head: .failure(error), .failure(error))
    }

    /// The task goes on, but not for anybody.
    private func giveUp(_ error: any Error) {
        end(head: .failure(error), .failure(error))?()
    }

    /// The first end counts.
    ///
    /// - Returns: What cancels the task; nil when it has ended before, or was not made yet.
    private func end(head: Result<HTTPURLResponse, any Error>, _ end: Result<Void, any Error>) -> (@Sendable () -> Void)? {
        let before = state.withLock { state in
            let before = state
            guard state.end == nil else { return before }
            state.head = state.head ?? head
            state.end = end
            (state.headReader, state.endReader, state.stop) = (nil, nil, nil)
            return before
        }
        guard before.end == nil else { return nil }
        before.headReader?.resume(with: before.head ?? head)
        before.endReader?.resume(with: end)
        return before.stop
    }
}
