/// What becomes of a request while the screen is locked: the key `ScreenLockedBehavior`.
public enum ScreenLockedBehavior: String, Sendable, Hashable, CaseIterable {
    /// The request is canceled.
    case cancel = "Cancel"
    /// The request goes on without sign-on.
    case doNotHandle = "DoNotHandle"
}
