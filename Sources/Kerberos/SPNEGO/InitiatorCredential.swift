internal import CKerberos
internal import Synchronization

internal import struct Foundation.Date
internal import class Foundation.ProcessInfo

/// A service ticket that creates tokens: copied to MEMORY caches of its own, with GSSAPI credentials that stay acquired.
///
/// Creating a token uses neither the network nor a ticket file. Its cost does not depend on how many tickets the user has, because
/// libkrb5 searches only this one. Instances can be used from several threads at the same time.
public final class InitiatorCredential: Sendable {
    /// The client of the ticket.
    public let client: Principal
    /// The service of the ticket.
    public let server: Principal
    /// When the ticket is valid.
    public let times: TicketTimes
    /// Whether it includes the client's ticket-granting ticket, so that a forwarded ticket can be sent to the service.
    ///
    /// GSSAPI requests the forwarded ticket from the KDC, so create the token with
    /// ``KerberosClient/beginNegotiation(with:flags:channelBindings:deadline:)``.
    public let canDelegate: Bool
    /// The fingerprint of the ticket; see ``Credential``.
    package let ticketFingerprint: Int
    /// How many seconds the KDC's clock was ahead of this machine's when this was created, according to the ticket's cache if one was
    /// given. Tokens contain the KDC's time.
    package let clockOffset: Int32
    let handles: InitiatorHandles

    init(
        _ ticket: Credential,
        ticketGrantingTicket: Credential? = nil,
        offersProtection: Bool = true,
        context: Context
    ) throws(KerberosError) {
        client = ticket.client
        server = ticket.server
        times = ticket.times
        canDelegate = ticketGrantingTicket != nil
        ticketFingerprint = ticket.fingerprint
        clockOffset = context.clockOffset
        handles = try InitiatorHandles(
            holding: [ticket] + (ticketGrantingTicket.map { [$0] } ?? []),
            for: ticket.server,
            // With a ticket-granting ticket, only the realm's one thread creates tokens.
            limit: canDelegate ? 1 : InitiatorHandles.usualLimit,
            offersProtection: offersProtection,
            context: context
        )
    }

    /// Whether the ticket is valid by the KDC's clock. GSSAPI uses this machine's clock to check the remaining time.
    var isValidByKDCClock: Bool { times.expires > Date(timeIntervalSinceNow: Double(clockOffset)) }
}

extension KerberosClient {
    /// Creates a credential that creates tokens from one service ticket.
    ///
    /// - Parameters:
    ///   - ticket: The service ticket.
    ///   - ticketGrantingTicket: The client's forwardable ticket-granting ticket, to delegate to the service; nil does not delegate.
    ///   - cache: The cache of the ticket, whose KDC clock offset the tokens use; nil uses the offset that this client has learned.
    public func initiatorCredential(
        for ticket: Credential,
        ticketGrantingTicket: Credential? = nil,
        from cache: CredentialCacheName? = nil
    ) async throws(KerberosError) -> InitiatorCredential {
        try await initiatorCredential(for: ticket, ticketGrantingTicket: ticketGrantingTicket, from: cache, offersProtection: true)
    }

    /// Creates such a credential.
    ///
    /// - Parameter offersProtection: Whether its contexts can sign and encrypt messages. libkrb5 offers that to the server whatever flags
    ///   are requested, and Active Directory's LDAP server refuses it on a TLS connection.
    package func initiatorCredential(
        for ticket: Credential,
        ticketGrantingTicket: Credential? = nil,
        from cache: CredentialCacheName?,
        offersProtection: Bool
    ) async throws(KerberosError) -> InitiatorCredential {
        // Without a cache of the ticket, only caches in memory are used.
        try await perform(on: cache ?? CredentialCacheName(rawValue: "MEMORY:")) { context throws(KerberosError) in
            if let cache { try context.withCacheAndClock(cache) { _ in } }
            return try InitiatorCredential(
                ticket,
                ticketGrantingTicket: ticketGrantingTicket,
                offersProtection: offersProtection,
                context: context
            )
        }
    }
}

/// The GSSAPI handles of an ``InitiatorCredential``, each with its own MEMORY cache of the same tickets: one at first, and one more
/// whenever all are in use.
///
/// While a token is created, libgssapi holds the credential's lock, and libkrb5 sometimes the cache's, so threads that share a handle
/// wait for each other.
final class InitiatorHandles: Sendable {
    private struct Handle: Sendable {
        let cache: MemoryCache
        let credential: GSSCredentialHandle

        init(_ cache: MemoryCache, offersProtection: Bool, subject: String) throws(KerberosError) {
            self.cache = cache
            // With KRB5_CLIENT_KTNAME set, GSSAPI would contact the KDC, on any thread, if the ticket expires soon: an empty client keytab
            // prevents it.
            let store = [("ccache", cache.name.rawValue), ("client_keytab", "MEMORY:none")]
            credential = try GSSCredentialHandle(usage: GSS_C_INITIATE, store: store, subject: subject)
            if !offersProtection { try credential.suppressProtectionFlags(subject: subject) }
        }
    }

    private struct State {
        var all: [Handle]
        /// The handles that no thread is using.
        var idle: [Handle]
        /// How many more may be created.
        var reserve: Int
    }

    /// The name of the service.
    let target: GSSName
    private let first: Handle
    private let offersProtection: Bool
    private let subject: String
    private let state: Mutex<State>

    /// One handle per processor, 8 at most.
    static var usualLimit: Int { min(max(ProcessInfo.processInfo.activeProcessorCount, 1), 8) }

    init(
        holding tickets: [Credential],
        for server: Principal,
        limit: Int,
        offersProtection: Bool = true,
        context: Context
    ) throws(KerberosError) {
        self.offersProtection = offersProtection
        target = try GSSName(principal: server)
        subject = server.description
        // The realm's own context creates the first cache, which passes the KDC's clock offset to GSSAPI.
        let cache = try MemoryCache(holding: tickets, context: context)
        first = try Handle(cache, offersProtection: offersProtection, subject: subject)
        state = Mutex(State(all: [first], idle: [first], reserve: limit - 1))
    }

    /// The number of handles.
    var count: Int { state.withLock { $0.all.count } }

    /// Lends an idle or a new handle; if the limit is reached, one that is in use, for whose lock GSSAPI waits.
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

    /// Creates a handle, outside the lock; nil if the limit is reached or creation fails.
    private func newHandle() -> Handle? {
        let isAllowed = state.withLock { state in
            guard state.reserve > 0 else { return false }
            state.reserve -= 1
            return true
        }
        guard isAllowed, let cache = try? MemoryCache(copying: first.cache),
            let handle = try? Handle(cache, offersProtection: offersProtection, subject: subject)
        else { return nil }
        state.withLock { $0.all.append(handle) }
        return handle
    }
}
