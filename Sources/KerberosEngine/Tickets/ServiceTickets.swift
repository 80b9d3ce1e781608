package import HTTPNegotiate
package import Kerberos

internal import struct Foundation.Date

extension KerberosExtension {
    /// The credential that makes tokens for a plan: at hand, or through session, service ticket and a cache of its own.
    func initiatorCredential(
        for plan: AuthorizationPlan,
        request: AuthorizationRequest
    ) async throws(AuthorizationError) -> InitiatorCredential {
        await followClock()
        let key = InitiatorStore.Key(plan, principal: plan.choice(of: request))
        if let credential = initiators.fresh(key, now: options.clock()) { return credential }
        let generation = initiators.generation
        let flight = TicketFlight(key: key, mayAsk: request.isUserInterfaceEnabled, generation: generation, guest: request.guest)
        do throws(KerberosError) {
            let flights = flight.mayAsk ? askingTicketFlights : ticketFlights
            return try await flights.run(flight) { [self] () async throws(KerberosError) in
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
                // It held when it was looked at; a machine that is busy or asleep may be late.
                return try await makeInitiatorCredential(for: plan, session: try await refresh(session), flight: flight)
            case .ticketRefused:
                // The KDC may have been set up anew.
                guard let other = try await replacement(ofRefused: session) else { break }
                return try await makeInitiatorCredential(for: plan, session: other, flight: flight)
            case .clockSkew:
                return try await withoutClockOffset(of: session, after: error) { session throws(KerberosError) in
                    // What began before the correction is not stored.
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
        let entry = InitiatorStore.Entry(
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
        return try await guestGate.run(for: guest, subject: plan.servicePrincipal) { () async throws(KerberosError) in
            try await client.serviceTicket(for: service, in: session.cache)
        }
    }

    /// The service that the KDC is asked for, in the realm that the configuration names for its host, if it names one.
    func service(of plan: AuthorizationPlan, for session: Session, client: KerberosClient) async throws(KerberosError) -> Principal {
        let service = try plan.service(for: session)
        guard service.realm.isEmpty, let host = service.host, let realm = try await client.configuredRealm(ofHost: host) else {
            return service
        }
        return try Principal(service.description + realm)  // the description ends with the sign before the realm
    }

    /// The service ticket of a session's cache, if one is there and can still be used; with no realm in the plan any realm's will do.
    package func cachedTicket(for plan: AuthorizationPlan, session: Session) async -> Credential? {
        guard let service = try? plan.service(for: session) else { return nil }
        let now = session.time(at: options.clock())
        // A cache may hold tickets that name somebody else: a service gets them by S4U2Self.
        return try? await clients.local.ticket(in: session.cache, for: session.principal) { server, times in
            server.components == service.components && (service.realm.isEmpty || server.realm == service.realm) && times.isUsable(at: now)
        }
    }
}

extension InitiatorStore.Key {
    /// For a plan, and the caller's choice of a principal.
    init(_ plan: AuthorizationPlan, principal: String?) {
        self.init(
            realm: plan.realm,
            principal: principal ?? (plan.configuration.credentialUseMode == .kerberosDefault ? nil : plan.configuration.principalName),
            service: plan.servicePrincipal,
            delegation: plan.delegation
        )
    }
}

/// What requests must agree on to share one ticket request: one that may ask a person is not one that may not, and one that began
/// after a sign-in does not take what was begun before it.
struct TicketFlight: Hashable {
    let key: InitiatorStore.Key
    let mayAsk: Bool
    let generation: Int
    /// The user who asks, if that is not the owner, who waits for no one else's.
    let guest: UInt32?
}

extension TicketFlight {
    fileprivate init(_ flight: TicketFlight, generation: Int) {
        self.init(key: flight.key, mayAsk: flight.mayAsk, generation: generation, guest: flight.guest)
    }
}
