/// Waits until a condition becomes true that another task or process brings about, such as a ticket that is acquired while the old one is
/// still in use. Polls a hundred times a second, for at most a minute.
public func comesTrue(_ condition: () async throws -> Bool) async throws -> Bool {
    let clock = ContinuousClock()
    let end = clock.now + .seconds(60)
    while clock.now < end {
        if try await condition() { return true }
        try await clock.sleep(for: .milliseconds(10))
    }
    return try await condition()
}
