package import HTTPNegotiate
package import Kerberos

internal import struct Foundation.Date

extension KerberosExtension {
    /// The credential that creates tokens for a plan. It is cached, or made from a session and a service ticket.
    func initiatorCredential(
        for plan: AuthorizationPlan,
        request: AuthorizationRequest
    ) async throws(AuthorizationError) -> InitiatorCredential {
        await followClock()
        let key = InitiatorCredentialCache.Key(plan, principal: plan.choice(of: request))
        if let credential = initiators.fresh(key, now: options.clock()) { return credential }
        let generation = initiators.generation
        let flight = TicketFlight(key: key, mayAsk: request.isUserInterfaceEnabled, generation: generation, guest: request.guest)
        do throws(KerberosError) {
            return try await ticketFlights.run(flight) { [self] () async throws(KerberosError) in
                try await makeInitiatorCredential(for: plan, principal: plan.choice(of: request), flight: flight)
            }
        } catch {
            throw AuthorizationError(error)
        }
    }

    private func makeInitiatorCredential(
        for plan: AuthorizationPlan,
        principal: String?,
        flight: TicketFlight
    ) async throws(KerberosError) -> InitiatorCredential {
        let session = try await session(for: plan, principal: principal, mayAsk: flight.mayAsk)
        let authenticated = session.ticketGrantingTicket.times.authenticated
        let now = options.clock()
        if let known = initiators.known(flight.key, client: session.principal, authenticated: authenticated, now: now) { return known }
        do throws(KerberosError) {
            return try await makeInitiatorCredential(for: plan, session: session, flight: flight)
        } catch {
            switch error.code {
            case .kdcUnreachable:
                if let held = initiators.held(flight.key, client: session.principal, now: options.clock()) { return held }
            case .ticketExpired where session.keytabSource != nil:
                // The ticket was valid when it was checked. A machine that is busy or was suspended may use it too late.
                return try await makeInitiatorCredential(for: plan, session: try await refresh(session), flight: flight)
            case .ticketRefused:
                // The KDC may have been rebuilt with new keys.
                guard let other = try await replacement(ofRefused: session) else { break }
                return try await makeInitiatorCredential(for: plan, session: other, flight: flight)
            case .clockSkew:
                return try await withoutClockOffset(of: session, after: error) { session throws(KerberosError) in
                    // A credential of the generation before the correction is not stored.
                    let flight = TicketFlight(flight, generation: initiators.generation)
                    return try await makeInitiatorCredential(for: plan, session: session, flight: flight)
                }
            default: break
            }
            throw error
        }
    }

    private func makeInitiatorCredential(
        for plan: AuthorizationPlan,
        session: Session,
        flight: TicketFlight
    ) async throws(KerberosError) -> InitiatorCredential {
        let client = clients.client(for: session.realm, isForGuests: flight.guest != nil)
        let ticket = try await serviceTicket(for: plan, session: session, client: client, guest: flight.guest)
        let credential = try await client.initiatorCredential(
            for: ticket,
            ticketGrantingTicket: plan.delegation.allows(session.ticketGrantingTicket, to: ticket) ? session.ticketGrantingTicket : nil,
            from: session.cache
        )
        let authenticated = session.ticketGrantingTicket.times.authenticated
        let entry = InitiatorCredentialCache.Entry(
            credential: credential,
            authenticated: authenticated,
            clockOffset: session.clockOffset,
            checked: options.clock()
        )
        initiators.insert(entry, for: flight.key, generation: flight.generation)
        return credential
    }

    private func serviceTicket(
        for plan: AuthorizationPlan,
        session: Session,
        client: KerberosClient,
        guest: UInt32?
    ) async throws(KerberosError) -> Credential {
        if let ticket = await cachedTicket(for: plan, session: session) { return ticket }
        let service = try await service(of: plan, for: session, client: client)
        return try await peerLimiter.run(for: guest, subject: plan.servicePrincipal) { () async throws(KerberosError) in
            try await client.serviceTicket(for: service, in: session.cache)
        }
    }

    /// The service principal to request, in the realm that the configuration maps its host to, if there is one.
    func service(of plan: AuthorizationPlan, for session: Session, client: KerberosClient) async throws(KerberosError) -> Principal {
        let service = try plan.service(for: session)
        guard service.realm.isEmpty, let host = service.host, let realm = try await client.configuredRealm(ofHost: host) else {
            return service
        }
        return try Principal(service.description + realm)  // the description ends with "@"
    }

    /// The service ticket in a session's cache, if there is one that is usable. If the plan names no realm, a ticket of any realm matches.
    package func cachedTicket(for plan: AuthorizationPlan, session: Session) async -> Credential? {
        guard let service = try? plan.service(for: session) else { return nil }
        let now = session.time(at: options.clock())
        // A cache may also hold tickets of other clients, which a service acquires with S4U2Self.
        return try? await clients.local.ticket(in: session.cache, for: session.principal) { server, times in
            server.components == service.components && (service.realm.isEmpty || server.realm == service.realm) && times.isUsable(at: now)
        }
    }
}

extension InitiatorCredentialCache.Key {
    /// Creates the key for a plan and the caller's choice of a principal.
    init(_ plan: AuthorizationPlan, principal: String?) {
        self.init(
            realm: plan.realm,
            principal: principal ?? (plan.configuration.credentialUseMode == .kerberosDefault ? nil : plan.configuration.principalName),
            service: plan.servicePrincipal,
            delegation: plan.delegation
        )
    }
}

/// Identifies requests that can share one ticket request. Requests that may prompt are separate from those that may not, and requests after
/// a sign-in do not join those from before it.
struct TicketFlight: Hashable {
    let key: InitiatorCredentialCache.Key
    let mayAsk: Bool
    let generation: Int
    /// The user ID of the requesting guest; nil is the owner, who never waits for guests.
    let guest: UInt32?
}

extension TicketFlight {
    fileprivate init(_ flight: TicketFlight, generation: Int) {
        self.init(key: flight.key, mayAsk: flight.mayAsk, generation: generation, guest: flight.guest)
    }
}
