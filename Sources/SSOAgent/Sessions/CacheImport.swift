package import Kerberos
internal import KerberosEngine
internal import SSOAgentClient

package import struct Foundation.Date

/// Copies the tickets that the user had before the agent came: those of the system's default cache and of the collection it stands in.
///
/// Marks go along, so that what another program acquired stays its own, and its cache is left as it is. A cache that this project filled is
/// destroyed once its tickets, or later ones of the same principal, are here: else a sign-out would hold until the next agent comes.
package struct CacheImport: Sendable {
    private let source: KerberosClient
    private let target: KerberosClient
    private let isLogin: Bool
    private let clock: @Sendable () -> Date

    /// - Parameters:
    ///   - source: A client whose default cache is the system's.
    ///   - target: A client whose default cache is a collection: the agent's.
    ///   - isLogin: Whether the source is a cache that a login has just made. Its tickets replace earlier ones of other programs, and it
    ///     stays as it is, because the program that made it also removes it.
    ///   - clock: What time it is.
    package init(
        from source: KerberosClient,
        to target: KerberosClient,
        isLogin: Bool = false,
        clock: @escaping @Sendable () -> Date = { Date() }
    ) {
        self.source = source
        self.target = target
        self.isLogin = isLogin
        self.clock = clock
    }

    /// Copies what holds and is not there yet, principal by principal; a cache that can't be read is passed over. The first one becomes
    /// the primary cache where the target had none. Of two sign-ins of one principal by this project the later one stays.
    ///
    /// - Returns: Whose tickets were copied.
    /// - Throws: `KerberosError` when the target can't be read or written; after a login also when its tickets are not there afterwards, so
    ///   that the caller goes on using the login's own cache.
    @discardableResult
    package func run() async throws(KerberosError) -> [Principal] {
        let standard = try await target.defaultCacheName()
        let existing = try await target.cacheNames()
        var present: [Principal: CredentialCacheContents] = [:]
        for contents in await read(target, existing) { present[contents.principal] = present[contents.principal] ?? contents }
        var copied: [Principal] = []
        let isEmpty = present.isEmpty
        var hasAll = false
        for contents in try await sources() {
            guard let ticket = contents.ticketGrantingTicket, ticket.isValid(at: contents.time(at: clock())) else { continue }
            let other = present[contents.principal]
            hasAll = true
            if let other, !replaces(contents, other) {
                if contents.isOwn, !isLogin, contents.isNoLater(than: other) { try? await source.destroy(contents.name) }
                continue
            }
            let name = if let other { other.name } else { try await target.newCacheName(type: standard.type) }
            try await copy(contents, to: name)
            if isEmpty, copied.isEmpty { try await target.makePrimary(name) }
            // What is left there is no reason not to serve.
            if contents.isOwn, !isLogin { try? await source.destroy(contents.name) }
            present[contents.principal] = contents
            copied.append(contents.principal)
        }
        guard hasAll || !isLogin else {
            let message = "there is no valid ticket-granting ticket. Sign in with: ksso login"
            throw KerberosError(.noCredentials, subject: "the login's cache", message: message)
        }
        return copied
    }

    /// What is in the source. What a login has made must be readable: its user counts on it.
    private func sources() async throws(KerberosError) -> [CredentialCacheContents] {
        guard isLogin else { return await read(source, (try? await source.cacheNames()) ?? []) }
        var caches: [CredentialCacheContents] = []
        for name in try await source.cacheNames() { caches.append(try await source.contents(of: name)) }
        return caches
    }

    private func replaces(_ contents: CredentialCacheContents, _ other: CredentialCacheContents) -> Bool {
        guard isLogin else { return contents.replaces(other) }
        guard let ticket = contents.ticketGrantingTicket, let present = other.ticketGrantingTicket,
            present.isValid(at: other.time(at: clock()))
        else { return true }
        guard other.isOwn else { return ticket.times.expires > present.times.expires }
        // What this project acquired it also renews, until the ticket's renewable life or a keytab's end.
        guard !(other.marks[Session.acquisitionSetting].map(Session.isAcquiredAgain(setting:)) ?? false) else { return false }
        let renewable = present.isRenewable ? present.times.renewUntil : nil
        return ticket.times.expires > max(present.times.expires, renewable ?? present.times.expires)
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

extension Agent {
    /// Takes over the tickets that the user had before the agent came. What stands in the way of that is told, and is no reason not to
    /// serve.
    func importTickets() async {
        guard options.mode == .agent else { return }
        let source = RealmConfiguration(realm: "", base: .files(options.systemConfiguration))
        let system = KerberosClient(source)
        // Those of a cache server of the machine's are everybody's already, and a copy would be neither renewed nor ended with them.
        guard (try? await system.defaultCacheName().type) != "KCM" else { return }
        let target = RealmConfiguration(
            realm: "",
            libdefaults: ["kcm_socket": cacheSocket ?? options.runtime.kcmSocket],
            base: .files(options.systemConfiguration),
            defaultCacheName: "KCM:"
        )
        do throws(KerberosError) {
            let principals = try await CacheImport(from: system, to: KerberosClient(target)).run()
            for principal in principals { journal.note("the tickets of \(principal) were taken over from the default cache.") }
        } catch {
            journal.failure("the tickets of the default cache were not taken over: \(error)")
        }
    }
}
