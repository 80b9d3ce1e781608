internal import Kerberos
internal import SignOnPolicy

internal import struct Foundation.Date

/// The service tickets of sessions, from their caches or from the KDC, and the credentials that create tokens from them.
struct ServiceTickets: Sendable {
    /// The clients of the realms.
    let clients: RealmClients
    /// Limits the requests of guests.
    let guests: GuestRequestLimiter
    /// Returns the current time.
    let clock: @Sendable () -> Date

    /// The client that asks the KDC of a realm for the owner (nil) or a guest.
    func client(for realm: String, guest: UInt32?) -> KerberosClient { clients.client(for: realm, guest: guest) }

    /// Creates the credential that creates tokens for a plan, from a service ticket of a session.
    func credential(for plan: AuthorizationPlan, session: Session, guest: UInt32?) async throws(KerberosError) -> InitiatorCredential {
        let client = client(for: session.realm, guest: guest)
        let ticket = try await ticket(for: plan, session: session, client: client, guest: guest)
        return try await client.initiatorCredential(
            for: ticket,
            ticketGrantingTicket: plan.delegation.allows(session.ticketGrantingTicket, to: ticket) ? session.ticketGrantingTicket : nil,
            from: session.cache
        )
    }

    private func ticket(
        for plan: AuthorizationPlan,
        session: Session,
        client: KerberosClient,
        guest: UInt32?
    ) async throws(KerberosError) -> Credential {
        if let ticket = await cachedTicket(for: plan, session: session) { return ticket }
        return try await guests.run(for: guest, subject: plan.servicePrincipal) { () async throws(KerberosError) in
            let service = try await service(of: plan, for: session, client: client)
            return try await client.serviceTicket(for: service, in: session.cache)
        }
    }

    /// The service principal to request, in the realm that the configuration maps its host to, if there is one. May ask DNS, and waits for
    /// the client's requests to KDCs.
    func service(of plan: AuthorizationPlan, for session: Session, client: KerberosClient) async throws(KerberosError) -> Principal {
        let service = try plan.service(for: session)
        guard service.realm.isEmpty, let host = service.host, let realm = try await client.configuredRealm(ofHost: host) else {
            return service
        }
        return try Principal(service.description + realm)  // the description ends with "@"
    }

    /// The service ticket in a session's cache, if there is one that is usable. If the plan names no realm, a ticket of any realm matches.
    func cachedTicket(for plan: AuthorizationPlan, session: Session) async -> Credential? {
        guard let service = try? plan.service(for: session) else { return nil }
        let now = session.time(at: clock())
        // A cache may also hold tickets of other clients, which a service acquires with S4U2Self.
        return try? await clients.local.ticket(in: session.cache, for: session.principal) { server, times in
            server.components == service.components && (service.realm.isEmpty || server.realm == service.realm) && times.isUsable(at: now)
        }
    }
}
