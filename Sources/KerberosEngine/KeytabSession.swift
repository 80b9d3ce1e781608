internal import Kerberos

internal import struct Foundation.Date

/// A service's own session: acquired from a keytab, kept in this process's memory, acquired again when two thirds of its life are over.
actor KeytabSession {
    private let source: InitialCredentialSource
    private let name: String?
    private let clients: RealmClients
    private let clock: @Sendable () -> Date
    private var session: Session?
    private var acquisition: Task<Session, any Error>?
    private var lastFailure: (error: KerberosError, until: Date)?

    init(_ source: InitialCredentialSource, principal: String?, clients: RealmClients, clock: @escaping @Sendable () -> Date) {
        self.source = source
        name = principal
        self.clients = clients
        self.clock = clock
    }

    /// The session as it is, for display.
    func existing() throws(KerberosError) -> [Session] {
        guard let session, var current = Session(session.contents, now: clock()) else { return [] }
        current.isDefault = true
        return [current]
    }

    /// A session that holds; acquired first where none does.
    ///
    /// - Throws: ``KerberosError`` when none can be had. While the old ticket holds, a KDC that is away is no failure.
    func current() async throws(KerberosError) -> Session {
        let now = clock()
        if let session, !session.ticketGrantingTicket.times.isDue(at: now) { return session }
        do throws(KerberosError) {
            if let lastFailure, lastFailure.until > now { throw lastFailure.error }
            return try await acquireOnce()
        } catch {
            if let session, session.ticketGrantingTicket.isValid(at: clock()) { return session }
            throw error
        }
    }

    private func acquireOnce() async throws(KerberosError) -> Session {
        let task = acquisition ?? Task { try await acquire() }
        acquisition = task
        defer { if acquisition == task { acquisition = nil } }
        switch await task.result {
        case .success(let session): return session
        case .failure(let error as KerberosError): throw error
        case .failure(let error): throw KerberosError(.other, subject: name ?? "keytab", message: "\(error)")
        }
    }

    private func acquire() async throws(KerberosError) -> Session {
        do throws(KerberosError) {
            let principal = try await principal()
            let client = clients.client(for: principal.realm)
            let ticket = try await client.initialCredential(for: principal, using: source)
            let cache: CredentialCacheName = if let session { session.cache } else { try await client.newCacheName(type: "MEMORY") }
            try await client.replace(cache, principal: principal, credentials: [ticket])
            guard let acquired = Session(try await client.contents(of: cache), now: clock()) else {
                throw .notSignedIn(principal.description)
            }
            session = acquired
            lastFailure = nil
            return acquired
        } catch {
            lastFailure = (error, clock().addingTimeInterval(Self.pause(after: error)))
            throw error
        }
    }

    /// A key that the KDC refuses is not sent again and again, since that may lock the account; a KDC that is away is asked again soon.
    private static func pause(after error: KerberosError) -> Double {
        switch error.code {
        case .wrongPassword, .accountLocked, .unknownPrincipal: 300
        case .kdcUnreachable: 5
        default: 0
        }
    }

    private func principal() async throws(KerberosError) -> Principal {
        guard let name else { return try await clients.local.firstPrincipal(inKeytab: source) }
        if let principal = try? Principal(name) { return principal }
        return try Principal(name, defaultRealm: try await clients.local.defaultRealm())
    }

    deinit {
        guard let cache = session?.cache else { return }
        Task { [clients] in try? await clients.local.destroy(cache) }
    }
}
