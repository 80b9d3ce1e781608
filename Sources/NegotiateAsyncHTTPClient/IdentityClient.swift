import AsyncHTTPClient
import HTTPNegotiate

/// An AsyncHTTPClient whose connections carry the tickets of one identity.
struct IdentityClient: Sendable {
    let client: HTTPClient
    let identity: ConnectionIdentity
    let pin: ConnectionPin
    /// Whether it is shared by exchanges, each of one request and response.
    let isMultiplexed: Bool

    var identifier: ObjectIdentifier { ObjectIdentifier(client) }
}
