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
        try? await clients.local.setClockOffset(of: session.cache, to: offset)
        return true
    }

    /// Repeats a call that failed because of clock skew, without the clock offset in the session's cache: the machine's clock may have been
    /// set after the tickets were acquired, while no process of this project was running. If the call fails again, the offset is restored.
    ///
    /// - Throws: `failure` if the offset is not the reason that the call failed.
    func without<Value: Sendable>(
        _ session: Session,
        after failure: KerberosError,
        _ call: (Session) async throws(KerberosError) -> Value
    ) async throws(KerberosError) -> Value {
        guard failure.code == .clockSkew, session.clockOffset != 0 else { throw failure }
        do throws(KerberosError) {
            return try await call(try await setOffset(of: session, to: 0))
        } catch {
            _ = try? await setOffset(of: session, to: session.clockOffset)
            throw failure
        }
    }

    private func setOffset(of session: Session, to offset: Double) async throws(KerberosError) -> Session {
        try await clients.local.setClockOffset(of: session.cache, to: offset)
        clients.removeAll()
        initiators.removeAll()
        return try await store.session(in: session.cache)
    }
}

extension KerberosClient {
    /// Rewrites a cache with another offset of the KDC's clock. Its tickets are kept.
    func setClockOffset(of cache: CredentialCacheName, to offset: Double) async throws(KerberosError) {
        let contents = try await contents(of: cache)
        try await replace(
            cache,
            principal: contents.principal,
            credentials: contents.credentials + contents.notes,
            marks: contents.marks,
            clockOffset: offset
        )
    }
}
