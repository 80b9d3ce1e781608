package import Kerberos
internal import KerberosEngine

package import struct Foundation.Date

/// Copies the tickets that the user had before the agent came: those of the system's default cache and of the collection it stands in.
///
/// Marks go along, so that what another program acquired stays its own, and its cache is left as it is. A cache that this project filled is
/// destroyed once its tickets are here: else a sign-out would hold until the next agent comes.
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
    /// the primary cache where the target had none.
    ///
    /// - Returns: Whose tickets were copied.
    /// - Throws: `KerberosError` when the target can't be read or written.
    @discardableResult
    package func run() async throws(KerberosError) -> [Principal] {
        let standard = try await target.defaultCacheName()
        let existing = try await target.cacheNames()
        var present = Set(await read(target, existing).map(\.principal))
        var copied: [Principal] = []
        let isEmpty = present.isEmpty
        guard let names = try? await source.cacheNames() else { return [] }
        for contents in await read(source, names) where !present.contains(contents.principal) {
            let tickets = contents.credentials.filter { $0.isValid(at: contents.time(at: clock())) }
            guard let ticket = contents.ticketGrantingTicket, ticket.isValid(at: contents.time(at: clock())) else { continue }
            let name = try await target.newCacheName(type: standard.type)
            try await target.replace(
                name,
                principal: contents.principal,
                credentials: tickets + contents.notes,
                marks: contents.marks,
                clockOffset: contents.clockOffset
            )
            if isEmpty, copied.isEmpty { try await target.makePrimary(name) }
            // What is left there is no reason not to serve.
            if contents.marks[Self.ownMark] != nil { try? await source.destroy(contents.name) }
            present.insert(contents.principal)
            copied.append(contents.principal)
        }
        return copied
    }

    /// The mark of a cache that the engine filled: how.
    private static let ownMark = "ksso_acquired_by"

    private func read(_ client: KerberosClient, _ names: [CredentialCacheName]) async -> [CredentialCacheContents] {
        var caches: [CredentialCacheContents] = []
        for name in names { if let contents = try? await client.contents(of: name) { caches.append(contents) } }
        return caches
    }
}
