internal import HTTPNegotiate
internal import Kerberos
internal import Synchronization

internal import struct Foundation.Date

extension KerberosExtension {
    /// Asks the KDC for another ticket in place of one that a server refused: the service may have another key since it was issued. The
    /// refused one is removed from the cache too, so that no other program uses it.
    ///
    /// - Parameters:
    ///   - refused: The credential that the refused token is from.
    ///   - reason: The error in the server's answer; nil if there was none.
    /// - Returns: Whether the next token comes from another ticket. False where the refused one was itself got in this way a short time
    ///   ago, and where the KDC gives none.
    func replaceServiceTicket(
        refused: InitiatorCredential,
        reason: KerberosError?,
        for plan: AuthorizationPlan,
        principal: String?,
        guest: UInt32?
    ) async -> Bool {
        let key = InitiatorStore.Key(plan, principal: principal)
        if let present = initiators.present(key), present.ticketFingerprint != refused.ticketFingerprint { return true }
        let replaced = try? await replacementFlights.run(ReplacementFlight(key: key, guest: guest)) {
            [self] () async throws(KerberosError) in
            let session = try await session(for: plan, principal: principal, mayAsk: false)
            // Another process may have done it, or signed in as another principal.
            let ticket = await cachedTicket(for: plan, session: session)
            if session.principal != refused.client || ticket.map({ $0.fingerprint != refused.ticketFingerprint }) ?? false {
                initiators.remove(ticket: refused.ticketFingerprint)
                return true
            }
            return try await guestGate.run(for: guest, subject: plan.servicePrincipal) { () async throws(KerberosError) in
                let client = clients.client(for: session.realm, isForGuests: guest != nil)
                guard let reason, reason.code == .clockSkew else {
                    return try await replace(refused, for: plan, session: session, client: client)
                }
                return try await withoutClockOffset(of: session, after: reason) { session throws(KerberosError) in
                    let client = clients.client(for: session.realm, isForGuests: guest != nil)
                    // Nothing is known of the offset unless the KDC has answered.
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
            // The caller has the server's refusal in its hands meanwhile.
            let ticket = try await client.replaceServiceTicket(for: service, in: session.cache, deadline: .seconds(5)) { server in
                server.components == service.components && (service.realm.isEmpty || server.realm == service.realm)
            }
            refusedServiceTickets.pause(ticket.fingerprint)
        } catch {
            refusedServiceTickets.pause(refused.ticketFingerprint, for: error.code == .kdcUnreachable ? 30 : KeyRefusals.longPause)
            throw error
        }
        initiators.remove(ticket: refused.ticketFingerprint)
        return true
    }
}

/// What requests must agree on to share the replacement of a ticket.
struct ReplacementFlight: Hashable {
    let key: InitiatorStore.Key
    /// The user who asks, if that is not the owner, who waits for no one else's.
    let guest: UInt32?
}

/// Keeps the KDC from being asked for a ticket with each request to a server that refuses them all.
final class RefusedServiceTickets: Sendable {
    private let clock: @Sendable () -> Date
    private let pauses = Mutex<[Int: Date]>([:])

    init(clock: @escaping @Sendable () -> Date) { self.clock = clock }

    /// Whether a ticket is none that has just come in the place of a refused one.
    func mayBeReplaced(_ fingerprint: Int) -> Bool {
        let now = clock()
        return pauses.withLock { ($0[fingerprint] ?? now) <= now }
    }

    /// Leaves a ticket as it is for some seconds.
    func pause(_ fingerprint: Int, for seconds: Double = KeyRefusals.longPause) {
        let now = clock()
        pauses.withLock { pauses in
            pauses = pauses.filter { $0.value > now }
            pauses[fingerprint] = now.addingTimeInterval(seconds)
        }
    }
}
