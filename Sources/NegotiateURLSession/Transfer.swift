import Foundation
import FoundationNetworking
import Synchronization

/// One task of a session: its head, then its body. The session's delegate provides the data, one task reads it.
final class Transfer: Sendable {
    /// The number of bytes of an unwanted body that are read so that its connection can be reused. Beyond it the connection is closed.
    private static let drainLimit = 65536

    private struct Body {
        var data = Data()
        /// The number of bytes received, including those that were discarded.
        var received = 0
        var isDrained = false
    }

    private struct State {
        var head: Result<HTTPURLResponse, any Error>?
        var end: Result<Void, any Error>?
        var body = Body()
        var headReader: CheckedContinuation<HTTPURLResponse, any Error>?
        var endReader: CheckedContinuation<Void, any Error>?
        var stop: (@Sendable () -> Void)?
    }

    private let state = Mutex(State())
    private let download: DownloadedFile?

    /// Creates a transfer.
    ///
    /// - Parameter download: The file for the body; nil to hold it in memory.
    init(download: DownloadedFile?) {
        self.download = download
    }

    // MARK: Reading

    /// Waits for the response's head.
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

    /// Waits for the complete body and returns it; empty if it was written to a file.
    func data() async throws -> Data {
        try await end()
        return state.withLock { $0.body.data }
    }

    /// Waits for the complete body and returns the file, which the caller owns. Throws if the body is in memory.
    func file() async throws -> URL {
        try await end()
        guard let download else { throw CocoaError(.fileNoSuchFile) }
        return try download.handOver()
    }

    /// Reads and discards the body.
    func drain() async {
        let stop = state.withLock { state in
            state.body.isDrained = true
            state.body.data = Data()
            return state.body.received > Transfer.drainLimit
        }
        if stop { cancel() }
        // If the body was incomplete, the next request will notice it.
        try? await end()
    }

    /// Stops receiving, and ends all waits with an error. Has no effect once everything has arrived.
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

    /// Called when the task has been created.
    ///
    /// - Parameter stop: Cancels the task. It must not block.
    /// - Returns: False if the transfer has already ended.
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

    /// Called by one thread at a time, so that pieces are written in order without a lock.
    func receive(_ piece: Data) {
        let (isWanted, isTooMuch) = state.withLock { state in
            guard state.end == nil else { return (false, false) }
            state.body.received += piece.count
            if !state.body.isDrained, download == nil { state.body.data.append(piece) }
            return (!state.body.isDrained, state.body.isDrained && state.body.received > Transfer.drainLimit)
        }
        if isTooMuch { return cancel() }
        guard isWanted, let download else { return }
        do {
            try download.append(piece)
        } catch {
            giveUp(error)
        }
    }

    /// Called when the task has ended. If no head has arrived before, the response is the head.
    func finish(_ response: HTTPURLResponse?) {
        _ = end(head: response.map { .success($0) } ?? .failure(URLError(.badServerResponse)), .success(()))
    }

    /// Called when the task has failed.
    func fail(_ error: any Error) {
        _ = end(head: .failure(error), .failure(error))
    }

    /// Ends the transfer and cancels the task.
    private func giveUp(_ error: any Error) {
        end(head: .failure(error), .failure(error))?()
    }

    /// Ends the transfer; only the first call has an effect.
    ///
    /// - Returns: The closure that cancels the task; nil if the transfer had already ended, or the task was not created yet.
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
