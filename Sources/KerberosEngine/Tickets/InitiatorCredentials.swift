internal import HTTPNegotiate
internal import Kerberos

internal import struct Foundation.Date

/// The credentials that create tokens: cached ones, else made from a session and a service ticket. Concurrent requests for one service
/// share one request to the KDC.
final class InitiatorCredentials: Sendable {
    private let cache: InitiatorCredentialCache
    private let tickets: ServiceTickets
    private let source: any SessionSource
    private let offsets: ClockOffsets
    private let refused: TicketReplacements
    private let clock: @Sendable () -> Date
    private let flights = SingleFlight<TicketFlight, InitiatorCredential>(endsWithItsWaiters: \.mayAsk)

    init(
        _ cache: InitiatorCredentialCache,
        tickets: ServiceTickets,
        source: any SessionSource,
        offsets: ClockOffsets,
        clock: @escaping @Sendable () -> Date
    ) {
        self.cache = cache
        self.tickets = tickets
        self.source = source
        self.offsets = offsets
        refused = TicketReplacements(clock: clock)
        self.clock = clock
    }

    /// The cached credential for a plan, if it can be used without further checks.
    func ready(for plan: AuthorizationPlan, request: AuthorizationRequest) -> InitiatorCredential? {
        guard offsets.areCurrent else { return nil }
        return cache.fresh(InitiatorCredentialCache.Key(plan, principal: plan.choice(of: request)), now: clock())
    }

    /// The credential for a plan. It is cached, or made from a session and a service ticket.
    func credential(for plan: AuthorizationPlan, request: AuthorizationRequest) async throws(AuthorizationError) -> InitiatorCredential {
        await offsets.follow(source)
        let key = InitiatorCredentialCache.Key(plan, principal: plan.choice(of: request))
        if let credential = cache.fresh(key, now: clock()) { return credential }
        let generation = cache.generation
        let flight = TicketFlight(key: key, mayAsk: request.isUserInterfaceEnabled, generation: generation, guest: request.guest)
        do throws(KerberosError) {
            return try await flights.run(flight) { [self] () async throws(KerberosError) in
                try await makeCredential(for: plan, principal: plan.choice(of: request), flight: flight)
            }
        } catch {
            throw AuthorizationError(error)
        }
    }

    /// Removes all cached credentials. The next token reads its ticket from the session's cache.
    func forget() { cache.removeAll() }

    private func makeCredential(
        for plan: AuthorizationPlan,
        principal: String?,
        flight: TicketFlight
    ) async throws(KerberosError) -> InitiatorCredential {
        let session = try await source.session(for: plan, principal: principal, mayAsk: flight.mayAsk)
        let authenticated = session.ticketGrantingTicket.times.authenticated
        if let known = cache.known(flight.key, client: session.principal, authenticated: authenticated, now: clock()) { return known }
        do throws(KerberosError) {
            return try await makeCredential(for: plan, session: session, flight: flight)
        } catch {
            switch error.code {
            case .kdcUnreachable:
                if let held = cache.held(flight.key, client: session.principal, now: clock()) { return held }
            case .ticketExpired where session.keytab != nil:
                // The ticket was valid when it was checked. A machine that is busy or was suspended may use it too late.
                await offsets.follow(source)
                let other = try await source.refresh(session, prompter: nil)
                return try await makeCredential(for: plan, session: other, flight: flight)
            case .ticketRefused:
                // The KDC may have been rebuilt with new keys.
                guard let other = try await refused.replacement(ofRefused: session, in: source) else { break }
                return try await makeCredential(for: plan, session: other, flight: flight)
            case .clockSkew:
                return try await source.withoutClockOffset(of: session, after: error) { session throws(KerberosError) in
                    try await makeCredential(for: plan, session: session, flight: flight)
                }
            default: break
            }
            throw error
        }
    }

    private func makeCredential(
        for plan: AuthorizationPlan,
        session: Session,
        flight: TicketFlight
    ) async throws(KerberosError) -> InitiatorCredential {
        let credential = try await tickets.credential(for: plan, session: session, guest: flight.guest)
        let entry = InitiatorCredentialCache.Entry(
            credential: credential,
            authenticated: session.ticketGrantingTicket.times.authenticated,
            clockOffset: session.clockOffset,
            checked: clock()
        )
        cache.insert(entry, for: flight.key, generation: flight.generation)
        return credential
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
