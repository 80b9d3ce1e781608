/// Whether the server gets the user's own ticket, to act as the user elsewhere.
public enum Delegation: String, Sendable, Hashable {
    /// Never.
    case none
    /// Where the KDC vouches for the service: its ticket has the flag `ok-as-delegate` (RFC 4120 section 2.8).
    case byPolicy
    /// Whatever the KDC says of the service.
    case always
}
