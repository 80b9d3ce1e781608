internal import CKerberos
internal import Synchronization

internal import struct Foundation.Date
internal import class Foundation.ProcessInfo

/// One service ticket, ready to make tokens: kept in MEMORY caches of its own under held GSSAPI credentials.
///
/// Making a token touches neither the network nor a ticket file, and costs the same however many tickets the user has, since libkrb5 has
/// only this one to look through. Use it from any thread, and from several at once.
public final class InitiatorCredential: Sendable {
    /// Whose ticket it is.
    public let client: Principal
    /// For which service it is.
    public let server: Principal
    /// When it holds.
    public let times: TicketTimes
    /// Whether the client's ticket-granting ticket is in it too, so that a copy can go to the service.
    ///
    /// GSSAPI asks the KDC for that copy: a token is made by ``KerberosClient/beginNegotiation(with:flags:channelBindings:deadline:)``
    /// then.
    public let canDelegate: Bool
    /// The number of its ticket; see ``Credential``.
    package let ticketFingerprint: Int
    /// By how many seconds the KDC's clock was ahead when this was made.
    /// By how many seconds the KDC's clock was ahead of this machine's, as the ticket's cache says; tokens carry the KDC's time.
    package let clockOffset: Int32
    let target: GSSName
    let handles: InitiatorHandles

    init(_ ticket: Credential, ticketGrantingTicket: Credential? = nil, context: Context) throws(KerberosError) {
        client = ticket.client
        server = ticket.server
        times = ticket.times
        canDelegate = ticketGrantingTicket != nil
        ticketFingerprint = ticket.fingerprint
        clockOffset = context.clockOffset
        target = try GSSName(principal: ticket.server)
        handles = try InitiatorHandles(
            holding: [ticket] + (ticketGrantingTicket.map { [$0] } ?? []),
            subject: ticket.server.description,
            // With a ticket-granting ticket the realm's one thread makes all tokens.
            limit: canDelegate ? 1 : InitiatorHandles.usualLimit,
            context: context
        )
    }

    /// Whether the ticket holds by the KDC's clock. GSSAPI goes by this machine's when it looks whether there is still time.
    var holdsByClockOfKDC: Bool { times.expires > Date(timeIntervalSinceNow: Double(clockOffset)) }
}

extension KerberosClient {
    /// Makes a credential that makes tokens from one service ticket.
    ///
    /// - Parameters:
    ///   - ticket: the service ticket.
    ///   - ticketGrantingTicket: the client's own, forwardable, where a copy of it shall go to the service; nil where it stays here.
    ///   - cache: where the ticket comes from. The KDC's clock offset is kept there, and a token without it would carry this machine's
    ///     time.
    public func initiatorCredential(
        for ticket: Credential,
        ticketGrantingTicket: Credential? = nil,
        from cache: CredentialCacheName? = nil
    ) async throws(KerberosError) -> InitiatorCredential {
        try await perform { context throws(KerberosError) in
            if let cache { try context.withCacheAndClock(cache) { _ in } }
            return try InitiatorCredential(ticket, ticketGrantingTicket: ticketGrantingTicket, context: context)
        }
    }
}

/// The handles behind an ``InitiatorCredential``, each over a MEMORY cache of its own with the same tickets: one at first, and one more
/// whenever threads meet.
///
/// While a token is made libgssapi holds the credential's lock and, now and then, libkrb5 the cache's: threads that shared one handle
/// would wait for each other.
final class InitiatorHandles: Sendable {
    private struct Handle: Sendable {
        let cache: MemoryCache
        let credential: GSSCredentialHandle

        init(_ cache: MemoryCache, subject: String) throws(KerberosError) {
            self.cache = cache
            // With KRB5_CLIENT_KTNAME set GSSAPI would go to the KDC by itself for a ticket that ends soon, from whatever thread: it gets
            // none.
            let store = [("ccache", cache.name.rawValue), ("client_keytab", "MEMORY:none")]
            credential = try GSSCredentialHandle(usage: GSS_C_INITIATE, store: store, subject: subject)
        }
    }

    private struct State {
        var all: [Handle]
        /// Those that no thread uses now.
        var idle: [Handle]
        /// How many more may be made.
        var reserve: Int
    }

    private let first: Handle
    private let subject: String
    private let state: Mutex<State>

    /// As many as threads can run at once, within reason.
    static var usualLimit: Int { min(max(ProcessInfo.processInfo.activeProcessorCount, 1), 8) }

    init(holding tickets: [Credential], subject: String, limit: Int, context: Context) throws(KerberosError) {
        // Made by the realm's own context: that is how the KDC's clock offset reaches GSSAPI.
        first = try Handle(try MemoryCache(holding: tickets, context: context), subject: subject)
        self.subject = subject
        state = Mutex(State(all: [first], idle: [first], reserve: limit - 1))
    }

    /// How many there are.
    var count: Int { state.withLock { $0.all.count } }

    /// Lends a handle that no other thread uses, if there is one or can be; else one that is waited for.
    func withHandle<Value>(_ body: (gss_cred_id_t) -> Value) -> Value {
        guard let own = idleHandle() ?? newHandle() else {
            return body((state.withLock { $0.all.randomElement() } ?? first).credential.raw)
        }
        defer { state.withLock { $0.idle.append(own) } }
        return body(own.credential.raw)
    }

    private func idleHandle() -> Handle? {
        state.withLock { $0.idle.popLast() }
    }

    /// One more, made outside the lock. Where that fails, those that are there must do.
    private func newHandle() -> Handle? {
        let isAllowed = state.withLock { state in
            guard state.reserve > 0 else { return false }
            state.reserve -= 1
            return true
        }
        guard isAllowed, let cache = try? MemoryCache(copying: first.cache), let handle = try? Handle(cache, subject: subject) else {
            return nil
        }
        state.withLock { $0.all.append(handle) }
        return handle
    }
}
