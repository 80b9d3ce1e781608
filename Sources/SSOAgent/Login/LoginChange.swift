/// What a user did at the machine, as far as it ends sessions.
package enum LoginChange: Sendable, Hashable, CaseIterable {
    /// The screen was locked.
    case locked
    /// The last of the user's login sessions has ended.
    case sessionEnded
}
