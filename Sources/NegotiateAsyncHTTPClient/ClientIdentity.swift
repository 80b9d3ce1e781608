import HTTPNegotiate

/// For whom and with whom a connection that carries tickets speaks.
struct ClientIdentity: Sendable, Hashable {
    let origin: Origin
    let principal: String
    let servicePrincipal: String
}
