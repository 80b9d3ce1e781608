internal import Kerberos
internal import SignOnPolicy

/// Replaces service tickets that servers refused, and limits the requests to the KDC for a server that refuses all of them.
final class ServiceTicketReplacements: Sendable {
    private let cache: InitiatorCredentialCache
    private let tickets: ServiceTickets
    private let source: any SessionSource
    private let flights = SingleFlight<ReplacementFlight, Bool>()
    private let pauses: Pauses<Paused, Void>

    /// What is not replaced during a pause.
    private enum Paused: Hashable {
        /// A ticket, for the owner.
        case ticket(Int)
        /// Any ticket for a service, for a guest. Because no server confirms that it refused a ticket, a guest's reports count for this
        /// guest only, and at most one in a period leads to a replacement.
        case service(Principal, guest: UInt32)

        init(_ fingerprint: Int, _ refused: InitiatorCredential, _ guest: UInt32?) {
            self = guest.map { .service(refused.server, guest: $0) } ?? .ticket(fingerprint)
        }
    }

    init(_ cache: InitiatorCredentialCache, tickets: ServiceTickets, source: any SessionSource) {
        self.cache = cache
        self.tickets = tickets
        self.source = source
        pauses = Pauses(clock: tickets.clock)
    }

    /// Replaces a service ticket that a server refused, because the service's key may have changed since it was issued. Removes the refused
    /// one from the cache as well, so that no other program uses it.
    ///
    /// - Parameters:
    ///   - refused: The credential of the refused token.
    ///   - reason: The error in the server's answer; nil if there was none.
    /// - Returns: Whether the next token uses another ticket. False if the refused ticket was itself a recent replacement, and if the KDC
    ///   issues none.
    func replace(
        refused: InitiatorCredential,
        reason: KerberosError?,
        for plan: AuthorizationPlan,
        principal: String?,
        guest: UInt32?
    ) async -> Bool {
        let key = InitiatorCredentialCache.Key(plan, principal: principal)
        if let present = cache.present(key), present.ticketFingerprint != refused.ticketFingerprint { return true }
        let replaced = try? await flights.run(ReplacementFlight(key: key, guest: guest)) { [self] () async throws(KerberosError) in
            let session = try await source.session(for: plan, principal: principal, mayAsk: false)
            // Another process may have replaced it, or signed in as another principal.
            let ticket = await tickets.cachedTicket(for: plan, session: session)
            if session.principal != refused.client || ticket.map({ $0.fingerprint != refused.ticketFingerprint }) ?? false {
                cache.remove(ticket: refused.ticketFingerprint)
                return true
            }
            guard !pauses.isPaused(Paused(refused.ticketFingerprint, refused, guest)) else { return false }
            return try await tickets.guests.run(for: guest, subject: plan.servicePrincipal) { () async throws(KerberosError) in
                guard let reason, reason.code == .clockSkew else {
                    return try await replace(refused, for: plan, session: session, guest: guest)
                }
                return try await source.withoutClockOffset(of: session, after: reason) { session throws(KerberosError) in
                    // Whether the offset is wrong is known only after the KDC has answered.
                    guard try await replace(refused, for: plan, session: session, guest: guest) else { throw reason }
                    return true
                }
            }
        }
        return replaced ?? false
    }

    private func replace(
        _ refused: InitiatorCredential,
        for plan: AuthorizationPlan,
        session: Session,
        guest: UInt32?
    ) async throws(KerberosError) -> Bool {
        let client = tickets.client(for: session.realm, guest: guest)
        let service = try await tickets.service(of: plan, for: session, client: client)
        do throws(KerberosError) {
            // The deadline is short because the caller is waiting with the server's refusal.
            let ticket = try await client.replaceServiceTicket(for: service, in: session.cache, deadline: .seconds(5)) { server in
                server.components == service.components && (service.realm.isEmpty || server.realm == service.realm)
            }
            pauses.begin(Paused(ticket.fingerprint, refused, guest), seconds: SignInBackoff.longPause)
        } catch {
            let seconds = error.code == .kdcUnreachable ? 30 : SignInBackoff.longPause
            pauses.begin(Paused(refused.ticketFingerprint, refused, guest), seconds: seconds)
            throw error
        }
        cache.remove(ticket: refused.ticketFingerprint)
        return true
    }
}

/// Identifies requests that can share the replacement of a ticket.
struct ReplacementFlight: Hashable {
    let key: InitiatorCredentialCache.Key
    /// The user ID of the requesting guest; nil is the owner, who never waits for guests.
    let guest: UInt32?
}
