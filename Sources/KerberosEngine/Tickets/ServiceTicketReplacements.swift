internal import Kerberos
internal import SignOnPolicy
internal import Synchronization

internal import struct Foundation.Date

extension KerberosExtension {
    /// Replaces a service ticket that a server refused, because the service's key may have changed since it was issued. Removes the refused
    /// one from the cache as well, so that no other program uses it.
    ///
    /// - Parameters:
    ///   - refused: The credential of the refused token.
    ///   - reason: The error in the server's answer; nil if there was none.
    /// - Returns: Whether the next token uses another ticket. False if the refused ticket was itself a recent replacement, and if the KDC
    ///   issues none.
    func replaceServiceTicket(
        refused: InitiatorCredential,
        reason: KerberosError?,
        for plan: AuthorizationPlan,
        principal: String?,
        guest: UInt32?
    ) async -> Bool {
        let key = InitiatorCredentialCache.Key(plan, principal: principal)
        if let present = initiators.present(key), present.ticketFingerprint != refused.ticketFingerprint { return true }
        let replaced = try? await replacementFlights.run(ReplacementFlight(key: key, guest: guest)) {
            [self] () async throws(KerberosError) in
            let session = try await session(for: plan, principal: principal, mayAsk: false)
            // Another process may have replaced it, or signed in as another principal.
            let ticket = await cachedTicket(for: plan, session: session)
            if session.principal != refused.client || ticket.map({ $0.fingerprint != refused.ticketFingerprint }) ?? false {
                initiators.remove(ticket: refused.ticketFingerprint)
                return true
            }
            return try await peerLimiter.run(for: guest, subject: plan.servicePrincipal) { () async throws(KerberosError) in
                let client = clients.client(for: session.realm, isForGuests: guest != nil)
                guard let reason, reason.code == .clockSkew else {
                    return try await replace(refused, for: plan, session: session, client: client)
                }
                return try await withoutClockOffset(of: session, after: reason) { session throws(KerberosError) in
                    let client = clients.client(for: session.realm, isForGuests: guest != nil)
                    // Whether the offset is wrong is known only after the KDC has answered.
                    guard try await replace(refused, for: plan, session: session, client: client) else { throw reason }
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
        client: KerberosClient
    ) async throws(KerberosError) -> Bool {
        guard refusedServiceTickets.mayBeReplaced(refused.ticketFingerprint) else { return false }
        let service = try await service(of: plan, for: session, client: client)
        do throws(KerberosError) {
            // The deadline is short because the caller is waiting with the server's refusal.
            let ticket = try await client.replaceServiceTicket(for: service, in: session.cache, deadline: .seconds(5)) { server in
                server.components == service.components && (service.realm.isEmpty || server.realm == service.realm)
            }
            refusedServiceTickets.pause(ticket.fingerprint)
        } catch {
            refusedServiceTickets.pause(refused.ticketFingerprint, for: error.code == .kdcUnreachable ? 30 : KeytabBackoff.longPause)
            throw error
        }
        initiators.remove(ticket: refused.ticketFingerprint)
        return true
    }
}

/// Identifies requests that can share the replacement of a ticket.
struct ReplacementFlight: Hashable {
    let key: InitiatorCredentialCache.Key
    /// The user ID of the requesting guest; nil is the owner, who never waits for guests.
    let guest: UInt32?
}

/// Limits the requests to the KDC for the tickets of a server that refuses all of them.
final class ServiceTicketReplacements: Sendable {
    private let clock: @Sendable () -> Date
    private let pauses = Mutex<[Int: Date]>([:])

    init(clock: @escaping @Sendable () -> Date) { self.clock = clock }

    /// Whether a ticket may be replaced, because it is not paused.
    func mayBeReplaced(_ fingerprint: Int) -> Bool {
        let now = clock()
        return pauses.withLock { ($0[fingerprint] ?? now) <= now }
    }

    /// Prevents the replacement of a ticket for some seconds.
    func pause(_ fingerprint: Int, for seconds: Double = KeytabBackoff.longPause) {
        let now = clock()
        pauses.withLock { pauses in
            pauses = pauses.filter { $0.value > now }
            pauses[fingerprint] = now.addingTimeInterval(seconds)
        }
    }
}
