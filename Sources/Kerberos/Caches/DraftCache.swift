internal import CKerberos
internal import Synchronization

/// A copy in memory of a cache's ticket-granting tickets, with which requests are sent to the KDC.
///
/// A request uses no other cache, because another process may serve that one and stop answering: the request would then be reported as one
/// that no KDC answered, and would block the queue of those requests.
final class DraftCache: Sendable {
    /// The full name of the cache that was copied.
    let original: CredentialCacheName
    /// The principal of that cache.
    let client: Principal
    /// The KDC clock offset in that cache.
    let clock: Context.Offset
    private let memory: MemoryCache
    /// The tickets that were copied.
    private let copied: [Credential]
    /// The tickets that were returned by ``claim(_:)``.
    private let claimed = Mutex<[Credential]>([])

    fileprivate init(
        _ memory: MemoryCache,
        of original: CredentialCacheName,
        client: Principal,
        clock: Context.Offset,
        copied: [Credential]
    ) {
        (self.memory, self.original, self.client, self.clock, self.copied) = (memory, original, client, clock, copied)
    }

    /// The name of the copy, a MEMORY cache that exists as long as this object.
    var name: CredentialCacheName { memory.name }

    /// Whether both are copies of the same tickets.
    fileprivate func isEqual(to other: DraftCache) -> Bool {
        client == other.client && clock == other.clock && copied.count == other.copied.count
            && zip(copied, other.copied).allSatisfy { $0.isIdentical(to: $1) }
    }

    /// Whether the ticket was copied from the cache.
    fileprivate func isCopied(_ ticket: Credential) -> Bool { copied.contains { $0.isIdentical(to: ticket) } }

    /// Returns the tickets that no other caller has claimed.
    fileprivate func claim(_ tickets: [Credential]) -> [Credential] {
        claimed.withLock { claimed in
            let new = tickets.filter { ticket in !claimed.contains { $0.isIdentical(to: ticket) } }
            claimed += new
            return new
        }
    }
}

/// The drafts of the calls in progress. Calls with the same tickets share one, so that a ticket that one of them has acquired is not
/// requested again by those that were queued behind it.
final class DraftCaches: Sendable {
    private struct Entry {
        weak var draft: DraftCache?
    }

    private let entries = Mutex<[CredentialCacheName: Entry]>([:])

    /// Returns another call's draft of the same tickets if there is one, else this draft.
    func shared(_ draft: DraftCache) -> DraftCache {
        entries.withLock { entries in
            if let present = entries[draft.original]?.draft, present.isEqual(to: draft) { return present }
            entries = entries.filter { $0.value.draft != nil }
            entries[draft.original] = Entry(draft: draft)
            return draft
        }
    }
}

extension Context {
    /// Copies the ticket-granting tickets of an open cache, including those for other realms, and its configuration entries. The context's
    /// clock offset must be the cache's.
    func draft(of cache: krb5_ccache) throws(KerberosError) -> DraftCache {
        let client = try principal(of: cache)
        let memory = try MemoryCache(of: client, context: self) { memory throws(KerberosError) in
            try forEachEntry(in: cache) { (entry: inout krb5_creds) throws(KerberosError) in
                guard krb5_is_config_principal(raw, entry.server) != 0 || Self.isTicketGranting(entry) else { return }
                try check(krb5_cc_store_cred(raw, memory, &entry), .writeCache, subject: "MEMORY")
            }
        }
        return try draft(memory, of: cache, client: client)
    }

    /// Copies one ticket-granting ticket of an open cache.
    func draft(of ticket: Credential, in cache: krb5_ccache) throws(KerberosError) -> DraftCache {
        try draft(MemoryCache(holding: [ticket], context: self), of: cache, client: ticket.client)
    }

    private func draft(_ memory: MemoryCache, of cache: krb5_ccache, client: Principal) throws(KerberosError) -> DraftCache {
        let copied = try withCache(memory.name) { copy throws(KerberosError) in try contents(of: copy).credentials }
        return DraftCache(memory, of: try name(of: cache), client: client, clock: offset, copied: copied)
    }

    private static func isTicketGranting(_ credential: krb5_creds) -> Bool {
        let server = credential.server.pointee
        return server.length == 2 && String(copying: server.data[0]) == "krbtgt"
    }

    /// Opens a draft for a request to the KDC, and adopts the clock offset of the cache that was copied.
    func withDraft<Value>(
        _ draft: DraftCache,
        _ body: (krb5_ccache) throws(KerberosError) -> Value
    ) throws(KerberosError) -> Value {
        setClock(draft.clock)
        return try withCache(draft.name, body)
    }
}

extension KerberosClient {
    /// Copies the ticket-granting tickets of a cache, and learns its clock offset.
    func draft(of name: CredentialCacheName) async throws(KerberosError) -> DraftCache {
        let draft = try await perform(on: name) { context throws(KerberosError) in
            try context.withCacheAndClock(name) { cache throws(KerberosError) in try context.draft(of: cache) }
        }
        clockOffset.learn(draft.clock)
        return draft
    }

    /// Stores a new ticket in the cache of a draft, after the tickets for other realms that requests with the draft have acquired.
    ///
    /// Failures are ignored, as in libkrb5, because the ticket is valid without being stored. If the cache's server does not answer, the
    /// next call on the cache reports that. Nothing is stored if another principal has signed in to the cache in the meantime.
    func store(_ ticket: Credential? = nil, with draft: DraftCache, isArmor: Bool = false) async {
        do throws(KerberosError) {
            let present = try await perform { context throws(KerberosError) in
                try context.withCache(draft.name) { copy throws(KerberosError) in try context.contents(of: copy).credentials }
            }
            let others = present.filter { other in
                other.server.isTicketGrantingService && !draft.isCopied(other) && ticket?.isIdentical(to: other) != true
            }
            let tickets = draft.claim(others + (ticket.map { [$0] } ?? []))
            guard !tickets.isEmpty else { return }
            try await perform(on: draft.original) { context throws(KerberosError) in
                try context.withCache(draft.original, isArmor: isArmor) { cache throws(KerberosError) in
                    guard try context.principal(of: cache) == draft.client else { return }
                    for ticket in tickets { try context.store(ticket, in: cache) }
                }
            }
        } catch {
            // See above.
        }
    }
}
