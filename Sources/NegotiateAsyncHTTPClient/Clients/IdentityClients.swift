import AsyncHTTPClient
import HTTPNegotiate

/// The clients whose connections carry tickets: in use, shared, or idle. A value type; its owner must synchronize access.
struct IdentityClients {
    private struct Idle {
        let client: IdentityClient
        /// The connection on which the server accepts requests without a ticket.
        let authenticatedConnection: Int?
    }

    private struct Shared {
        let client: IdentityClient
        var uses: Int
        var lastUse: Int
    }

    /// The idle clients, least recently used first.
    private var idle: [Idle] = []
    private var leased: [ObjectIdentifier: HTTPClient] = [:]
    private var shared: [ConnectionIdentity: Shared] = [:]
    private var clock = 0

    var all: [HTTPClient] { idle.map(\.client.client) + Array(leased.values) + shared.values.map(\.client.client) }

    /// Takes a client for an identity, if one is available.
    mutating func take(_ identity: ConnectionIdentity, isMultiplexed: Bool) -> IdentityClient? {
        if isMultiplexed {
            guard let client = shared[identity]?.client else { return nil }
            shared[identity]?.uses += 1
            return client
        }
        return idle.lastIndex { $0.client.identity == identity }.map { lease($0).client }
    }

    /// Takes an idle client whose connection is authenticated, with the connection's number.
    mutating func takeAuthenticated(_ identity: ConnectionIdentity) -> (client: IdentityClient, connection: Int)? {
        guard let position = idle.lastIndex(where: { $0.authenticatedConnection != nil && $0.client.identity == identity }) else {
            return nil
        }
        let taken = lease(position)
        return taken.authenticatedConnection.map { (taken.client, $0) }
    }

    private mutating func lease(_ position: Int) -> Idle {
        let taken = idle.remove(at: position)
        leased[taken.client.identifier] = taken.client.client
        return taken
    }

    /// Adds a new client that is in use.
    mutating func add(_ client: IdentityClient) -> IdentityClient {
        if client.isMultiplexed {
            shared[client.identity] = Shared(client: client, uses: 1, lastUse: clock)
        } else {
            leased[client.identifier] = client.client
        }
        return client
    }

    /// Ends a use; returns the clients to close. After a shutdown the client is no longer in the list, and has already been closed.
    mutating func release(_ client: IdentityClient, isReusable: Bool, authenticatedConnection: Int?) -> [HTTPClient] {
        if client.isMultiplexed { return releaseShared(client) }
        guard leased.removeValue(forKey: client.identifier) != nil else { return [] }
        guard isReusable else { return [client.client] }
        idle.append(Idle(client: client, authenticatedConnection: authenticatedConnection))
        return idle.count > ClientStore.maximumIdleClients ? [idle.removeFirst().client.client] : []
    }

    /// Ends a shared use. The outcome of one stream says nothing about the connection that others use, so the client stays unless there are
    /// too many.
    private mutating func releaseShared(_ client: IdentityClient) -> [HTTPClient] {
        guard shared[client.identity]?.client.identifier == client.identifier else { return [] }
        clock += 1
        shared[client.identity]?.uses -= 1
        shared[client.identity]?.lastUse = clock
        guard shared.count > ClientStore.maximumIdleClients,
            let oldest = shared.filter({ $0.value.uses == 0 }).min(by: { $0.value.lastUse < $1.value.lastUse })
        else { return [] }
        shared[oldest.key] = nil
        return [oldest.value.client.client]
    }
}

/// An AsyncHTTPClient whose connections carry the tickets of one identity.
struct IdentityClient: Sendable {
    let client: HTTPClient
    let identity: ConnectionIdentity
    let pin: ConnectionPin
    /// Whether several exchanges share it, each with a single request and response.
    let isMultiplexed: Bool

    var identifier: ObjectIdentifier { ObjectIdentifier(client) }
}
