internal import Kerberos

/// Corrects the stored offsets of the KDCs' clocks when the machine's clock was set. Otherwise tokens would carry a time at which they are
/// not yet valid or no longer valid.
final class ClockOffsets: Sendable {
    private let watch: ClockWatch
    private let clients: RealmClients
    private let initiators: InitiatorCredentialCache
    private let store: SessionStore
    private let flights = SingleFlight<Int, Bool>()

    init(_ watch: ClockWatch, clients: RealmClients, initiators: InitiatorCredentialCache, store: SessionStore) {
        self.watch = watch
        self.clients = clients
        self.initiators = initiators
        self.store = store
    }

    /// Whether the machine's clock agrees with the offsets.
    var areCurrent: Bool { watch.step == nil }

    /// Corrects the offsets of a source's sessions if the machine's clock was set in the meantime. Uses no network itself; the affected
    /// tickets are reacquired in the background.
    func follow(_ source: any SessionSource) async {
        guard !areCurrent else { return }
        _ = try? await flights.run(0) { [self] () async throws(KerberosError) in
            guard let step = watch.step else { return true }
            clients.removeAll()
            initiators.removeAll()
            await source.follow(step)
            initiators.removeAll()
            watch.settle(step)
            return true
        }
    }

    /// Corrects the offset in a session's cache.
    ///
    /// - Returns: Whether the offset has changed.
    func correct(_ session: Session, after step: ClockWatch.Step) async -> Bool {
        let offset = step.offset(after: session.clockOffset)
        guard offset != session.clockOffset else { return false }
        return (try? await clients.local.setClockOffset(of: session, to: offset)) ?? false
    }

    /// Writes the offset of a session to its cache if the stored one is evidently out of date, so that requests for tickets use it.
    func writeOffset(of session: Session) async {
        guard session.clockOffset != session.listing.clockOffset else { return }
        if (try? await clients.local.setClockOffset(of: session, to: session.clockOffset)) == true { clients.removeAll() }
    }

    /// Repeats a call that failed because of clock skew, with a copy of the session in memory that has no clock offset: the machine's clock
    /// may have been set after the tickets were acquired, while no process of this project was running. Only if the call succeeds, its
    /// tickets and the offset 0 are written to the session's cache, so that a failure changes nothing for other programs.
    ///
    /// - Throws: `failure` if the offset is not the reason that the call failed.
    func without<Value: Sendable>(
        _ session: Session,
        after failure: KerberosError,
        _ call: (Session) async throws(KerberosError) -> Value
    ) async throws(KerberosError) -> Value {
        guard failure.code == .clockSkew, ClockSkew.isSuspect(session.clockOffset) else { throw failure }
        do throws(KerberosError) {
            let original = try await clients.local.contents(of: session.cache)
            guard original.hasTicket(of: session) else { throw failure }
            let copy = try await clients.local.newCacheName(type: "MEMORY")
            defer { copy.destroyMemory() }
            try await clients.local.replace(
                copy,
                principal: original.principal,
                credentials: original.credentials + original.notes,
                marks: original.marks,
                clockOffset: 0
            )
            clients.removeAll()
            let value = try await call(try await store.session(in: copy))
            let result = try await clients.local.contents(of: copy)
            guard try await clients.local.replaceTickets(of: session, from: original, with: result) else { throw failure }
            initiators.removeAll()
            return value
        } catch {
            throw failure
        }
    }
}

extension KerberosClient {
    /// Rewrites the cache of a session with another offset of the KDC's clock. Its tickets are kept.
    ///
    /// - Returns: False, without writing, if another program has signed in or out in the meantime.
    func setClockOffset(of session: Session, to offset: Double) async throws(KerberosError) -> Bool {
        try await rewrite(session.cache) { contents in
            guard contents.hasTicket(of: session) else { return false }
            contents.clockOffset = offset
            return true
        }
    }

    /// Replaces the tickets and the clock offset in the cache of a session. Tickets that other programs have added since are kept.
    ///
    /// - Returns: False, without writing, if another program has signed in or out in the meantime.
    fileprivate func replaceTickets(
        of session: Session,
        from original: CredentialCacheContents,
        with result: CredentialCacheContents
    ) async throws(KerberosError) -> Bool {
        let known = Set(original.credentials.map(\.fingerprint))
        return try await rewrite(session.cache) { contents in
            guard contents.hasTicket(of: session) else { return false }
            contents.credentials = result.credentials + contents.credentials.filter { !known.contains($0.fingerprint) }
            contents.marks.merge(result.marks) { $1 }
            contents.clockOffset = result.clockOffset
            return true
        }
    }
}

extension CredentialCacheContents {
    /// Whether the cache still has the ticket-granting ticket of a session.
    fileprivate func hasTicket(of session: Session) -> Bool {
        principal == session.principal && ticketGrantingTicket?.isIdentical(to: session.ticketGrantingTicket) == true
    }
}
