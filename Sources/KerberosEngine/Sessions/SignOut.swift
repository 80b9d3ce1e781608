public import Kerberos

/// What a sign-out covers.
struct SignOutRequest {
    /// The principal; nil is every principal.
    let principal: Principal?
    /// The realm; nil is every realm.
    let realm: String?
    /// Whether to destroy tickets that other programs acquired.
    let includingOthers: Bool
}

/// The result of a sign-out.
public struct SignOutResult: Sendable {
    /// The sessions that ended.
    public let ended: [Session]
    /// The sessions that another program acquired, which were therefore kept.
    public let left: [Session]
    /// The principals whose stored password was removed.
    public let forgotten: [Principal]
}
