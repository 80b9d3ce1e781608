/// A wait for requests that is over, for whoever has let go of the plan's lock.
///
/// The runtime resumes a task under a lock of the task's own, and holds the same one while the task's cancellation handler asks for the
/// plan's: whoever resumed the task under the plan's lock could wait for the handler, and the handler for them, for ever.
struct EndedWait: Sendable {
    private let continuation: CheckedContinuation<[KDCExchange], any Error>
    private let result: Result<[KDCExchange], any Error>

    init(_ continuation: CheckedContinuation<[KDCExchange], any Error>, _ result: Result<[KDCExchange], any Error>) {
        self.continuation = continuation
        self.result = result
    }

    /// Tells who waited.
    func resume() { continuation.resume(with: result) }
}
