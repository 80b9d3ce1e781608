/// Whether the server must prove that it is the service that was asked for.
public enum MutualAuthentication: String, Sendable, Hashable {
    /// A response without a final token that verifies is an error.
    case required
    /// A final token is verified where there is one; a response without it is taken as it comes.
    case optional
    /// The server is not asked to prove itself, and a token that it sends is not looked at.
    case off
}
