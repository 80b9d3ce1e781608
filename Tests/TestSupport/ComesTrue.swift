internal import SystemSupport
public import Testing

/// Waits until a condition becomes true that another task or process brings about, such as a ticket that is acquired while the old one is
/// still in use. Polls a hundred times a second, for at most a minute; longer if other tests keep the threads so busy that fewer than a
/// hundred polls were possible, as under a sanitizer, where they also delay what brings the condition about.
public func comesTrue(within limit: Duration = .seconds(60), _ condition: () async throws -> Bool) async throws -> Bool {
    var polls = 0
    repeat {
        let isTrue = try await pollUntil(within: limit, every: .milliseconds(10)) {
            polls += 1
            return try await condition()
        }
        if isTrue { return true }
    } while polls < 100
    return false
}

/// Waits as ``comesTrue(within:_:)`` does, and records an issue if the condition is still false after a minute.
public func eventually(_ condition: () async throws -> Bool, sourceLocation: SourceLocation = #_sourceLocation) async throws {
    guard try await !comesTrue(condition) else { return }
    Issue.record("The condition was not true within a minute.", sourceLocation: sourceLocation)
}
