/// Waits for what happens beside, such as a ticket that is acquired while the old one still serves: a hundred looks a second, for a
/// minute at most.
public func comesTrue(_ condition: () async throws -> Bool) async throws -> Bool {
    let clock = ContinuousClock()
    let end = clock.now + .seconds(60)
    while clock.now < end {
        if try await condition() { return true }
        try await clock.sleep(for: .milliseconds(10))
    }
    return try await condition()
}
