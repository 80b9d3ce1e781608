package import Kerberos
internal import KerberosEngine

package import struct Foundation.Date

/// Copies the tickets that the user had before the agent came: those of the system's default cache and of the collection it stands in.
///
/// Marks go along, so that what another program acquired stays its own, and its cache is left as it is. A cache that this project filled is
/// destroyed once its tickets, or later ones of the same principal, are here: else a sign-out would hold until the next agent comes.
package struct CacheImport: Sendable {
    private let source: KerberosClient
    private let target: KerberosClient
    private let clock: @Sendable () -> Date

    /// - Parameters:
    ///   - source: A client whose default cache is the system's.
    ///   - target: A client whose default cache is a collection: the agent's.
    ///   - clock: What time it is.
    package init(from source: KerberosClient, to target: KerberosClient, clock: @escaping @Sendable () -> Date = { Date() }) {
        self.source = source
        self.target = target
        self.clock = clock
    }

    /// Copies what holds and is not there yet, principal by principal; a cache that can't be read is passed over. The first one becomes
    /// the primary cache where the target had none. Of two sign-ins of one principal by this project the later one stays.
    ///
    /// - Returns: Whose tickets were copied.
    /// - Throws: `KerberosError` when the target can't be read or written.
    @discardableResult
    package func run() async throws(KerberosError) -> [Principal] {
        let standard = try await target.defaultCacheName()
        let existing = try await target.cacheNames()
        var present: [Principal: CredentialCacheContents] = [:]
        for contents in await read(target, existing) { present[contents.principal] = present[contents.principal] ?? contents }
        var copied: [Principal] = []
        let isEmpty = present.isEmpty
        guard let names = try? await source.cacheNames() else { return [] }
        for contents in await read(source, names) {
            guard let ticket = contents.ticketGrantingTicket, ticket.isValid(at: contents.time(at: clock())) else { continue }
            let other = present[contents.principal]
            if let other, !contents.replaces(other) {
                if contents.isOwn, contents.isNoLater(than: other) { try? await source.destroy(contents.name) }
                continue
            }
            let name = if let other { other.name } else { try await target.newCacheName(type: standard.type) }
            try await copy(contents, to: name)
            if isEmpty, copied.isEmpty { try await target.makePrimary(name) }
            // What is left there is no reason not to serve.
            if contents.isOwn { try? await source.destroy(contents.name) }
            present[contents.principal] = contents
            copied.append(contents.principal)
        }
        return copied
    }

    private func copy(_ contents: CredentialCacheContents, to name: CredentialCacheName) async throws(KerberosError) {
        let tickets = contents.credentials.filter { $0.isValid(at: contents.time(at: clock())) }
        try await target.replace(
            name,
            principal: contents.principal,
            credentials: tickets + contents.notes,
            marks: contents.marks,
            clockOffset: contents.clockOffset
        )
    }

    private func read(_ client: KerberosClient, _ names: [CredentialCacheName]) async -> [CredentialCacheContents] {
        var caches: [CredentialCacheContents] = []
        for name in names { if let contents = try? await client.contents(of: name) { caches.append(contents) } }
        return caches
    }
}

extension CredentialCacheContents {
    /// Whether it came from a later sign-in of this project, or renewal, than the other, which is this project's too.
    fileprivate func replaces(_ other: CredentialCacheContents) -> Bool { isOwn && other.isOwn && !isNoLater(than: other) }

    /// Whether its ticket-granting ticket begins no later than the other's. One KDC gave both, so that its clock tells.
    fileprivate func isNoLater(than other: CredentialCacheContents) -> Bool {
        guard let own = ticketGrantingTicket, let others = other.ticketGrantingTicket else { return ticketGrantingTicket == nil }
        return own.times.starts <= others.times.starts
    }
}
