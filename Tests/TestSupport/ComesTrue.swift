internal import SystemSupport
public import Testing

/// Waits until a condition becomes true that another task or process brings about, such as a ticket that is acquired while the old one is
/// still in use. Polls a hundred times a second, for at most a minute.
public func comesTrue(within limit: Duration = .seconds(60), _ condition: () async throws -> Bool) async throws -> Bool {
    try await pollUntil(within: limit, every: .milliseconds(10), condition)
}

/// Waits as ``comesTrue(within:_:)`` does, and records an issue if the condition is still false after a minute.
public func eventually(_ condition: () async throws -> Bool, sourceLocation: SourceLocation = #_sourceLocation) async throws {
    guard try await !comesTrue(condition) else { return }
    Issue.record("The condition was not true within a minute.", sourceLocation: sourceLocation)
}
