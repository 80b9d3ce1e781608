/// A grant that was made before the server asked for it.
package struct ReadyGrant: Sendable {
    package let grant: AuthorizationGrant
    /// What its token is bound to.
    private let channelBindings: [UInt8]?
    private let madeAt: ContinuousClock.Instant

    /// A token carries the time, and a sign-out must count: beyond it a slow server gets one that is new.
    private static let longestWait = Duration.seconds(1)

    package init(_ grant: AuthorizationGrant, channelBindings: [UInt8]?, madeAt: ContinuousClock.Instant = .now) {
        self.grant = grant
        self.channelBindings = channelBindings
        self.madeAt = madeAt
    }

    /// Whether it answers a challenge that comes now, over a connection with these channel bindings.
    package func answers(channelBindings: [UInt8]?, now: ContinuousClock.Instant = .now) -> Bool {
        channelBindings == self.channelBindings && now - madeAt <= Self.longestWait
    }
}
