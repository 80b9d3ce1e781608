/// What becomes of a ticket for an https server when the client library does not show the server's certificate.
///
/// A server that enforces channel bindings refuses such a ticket; one that does not can't tell it from a ticket that a relay passes on.
public enum UnboundTLS: String, Sendable, Hashable {
    /// It is sent without channel bindings.
    case allowed
    /// Nothing is sent, and the error ``AuthorizationError/Code/channelBindingsUnavailable`` thrown; hosts of `NoChannelBindingHosts` and
    /// plain http excepted.
    case refused
}
