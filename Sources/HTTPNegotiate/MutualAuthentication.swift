/// Whether the server must prove that it is the service that was asked for.
public enum MutualAuthentication: String, Sendable, Hashable {
    /// A response to a ticket that the server asked for, without a final token that verifies, is an error. A page that it gives to
    /// everybody, without asking or whatever ticket came unasked, is handed on as not authenticated.
    case required
    /// A final token is verified where there is one; a response without it is taken as it comes.
    case optional
    /// The server is not asked to prove itself, and a token that it sends is not looked at.
    case off
}
