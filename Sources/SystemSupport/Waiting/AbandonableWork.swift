internal import Dispatch

/// Runs blocking calls on threads of their own, never on Swift's shared task threads.
///
/// The call cannot be canceled. It must have a time limit of its own, or its caller must be able to abandon it.
package enum BlockingCall {
    /// Runs the call and returns its value.
    package static func run<Value: Sendable>(_ body: @escaping @Sendable () -> Value) async -> Value {
        await withCheckedContinuation { continuation in
            DispatchQueue(label: "kerberos.blocking").async { continuation.resume(returning: body()) }
        }
    }
}

/// Returns the value of some work, or nil if the work takes longer than the limit. Late work continues in the background.
///
/// - Parameter cancelsLateWork: Whether the task of late work is canceled, so that it can stop where it checks for that.
package func firstResult<Value: Sendable>(
    within limit: Duration,
    cancelsLateWork: Bool = true,
    _ work: @escaping @Sendable () async -> Value
) async -> Value? {
    let (results, continuation) = AsyncStream.makeStream(of: Value?.self, bufferingPolicy: .bufferingOldest(1))
    let worker = Task { continuation.yield(await work()) }
    let timer = Task {
        try await Task.sleep(for: limit)
        continuation.yield(nil)
    }
    defer {
        if cancelsLateWork { worker.cancel() }
        timer.cancel()
    }
    for await result in results { return result }
    return nil
}

/// Polls a condition that another process or task brings about, and of which there is no event. The first check is immediate.
///
/// - Returns: Whether the condition became true within the limit.
/// - Throws: What the condition throws, and `CancellationError` if the task is canceled.
nonisolated(nonsending) package func pollUntil(
    within limit: Duration,
    every interval: Duration = .milliseconds(20),
    _ condition: nonisolated(nonsending) () async throws -> Bool
) async throws -> Bool {
    let end = ContinuousClock.now + limit
    while try await !condition() {
        guard ContinuousClock.now < end else { return false }
        try await Task.sleep(for: interval)
    }
    return true
}
