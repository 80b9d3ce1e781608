/// Runs an operation; when the time is up it is cancelled, and the error with the code `timedOut` thrown.
package func withDeadline<Value: Sendable>(
    _ limit: Duration,
    _ operation: @escaping @Sendable () async throws -> Value
) async throws -> Value {
    try await withThrowingTaskGroup(of: Value.self) { group in
        defer { group.cancelAll() }
        group.addTask(operation: operation)
        group.addTask {
            try await Task.sleep(for: limit)
            throw AuthorizationError(.timedOut, "The request was not finished within \(limit). Try again, or allow more time.")
        }
        guard let value = try await group.next() else { throw CancellationError() }
        return value
    }
}
