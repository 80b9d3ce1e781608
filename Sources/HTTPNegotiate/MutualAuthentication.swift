/// Whether the server must prove that it is the service that was asked for.
public enum MutualAuthentication: Sendable, Hashable {
    /// A response without a final token that verifies is an error.
    case required
    /// A response is taken as it comes; a final token is verified where there is one.
    case off
}
