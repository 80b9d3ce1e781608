package import Kerberos
internal import KerberosEngine
internal import SSOAgentClient

package import struct Foundation.Date

/// Copies the tickets that the user had before the agent started: those of the system's default cache and of its collection.
///
/// The marks are copied too, so that tickets acquired by another program stay marked as that program's, and its cache is left unchanged. A
/// cache that this project filled is destroyed once its tickets, or newer ones of the same principal, have been copied. Otherwise a
/// sign-out would be undone when the next agent starts.
package struct CacheImport: Sendable {
    /// What an import has done.
    package struct Outcome: Sendable {
        /// The principals whose tickets were copied.
        package var copied: [Principal] = []
        /// The principals whose caches were destroyed at the source, so that programs that read those find no tickets any more.
        package var moved: [Principal] = []
    }

    private let source: KerberosClient
    private let target: KerberosClient
    private let isLogin: Bool
    private let clock: @Sendable () -> Date

    /// - Parameters:
    ///   - source: A client whose default cache is the system's.
    ///   - target: A client whose default cache is the agent's collection.
    ///   - isLogin: Whether the source is a cache that a login has just created. Its tickets replace earlier ones of other programs, and it
    ///     is left unchanged, because the program that created it also removes it.
    ///   - clock: Returns the current time.
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

    /// Copies the valid tickets that the target lacks, principal by principal. Caches that cannot be read are skipped. If the target was
    /// empty, the first copied cache becomes its primary cache. If both sides have a sign-in of one principal by this project, the later
    /// one is kept.
    ///
    /// - Throws: `KerberosError` if the target cannot be read or written. After a login, also if the login's cache cannot be read or has no
    ///   valid ticket-granting ticket, so that the caller keeps using that cache.
    @discardableResult
    package func run() async throws(KerberosError) -> Outcome {
        let standard = try await target.defaultCacheName()
        let existing = try await target.cacheNames()
        var present: [Principal: CredentialCacheContents] = [:]
        for contents in await read(target, existing) { present[contents.principal] = present[contents.principal] ?? contents }
        var outcome = Outcome()
        let isEmpty = present.isEmpty
        var hasAll = false
        for contents in try await sources() {
            guard let ticket = contents.ticketGrantingTicket, ticket.isValid(at: contents.time(at: clock())) else { continue }
            let other = present[contents.principal]
            hasAll = true
            if let other, !replaces(contents, other) {
                if contents.isNoLater(than: other) { await leave(contents, &outcome) }
                continue
            }
            let name = if let other { other.name } else { try await target.newCacheName(type: standard.type) }
            try await copy(contents, to: name)
            if isEmpty, outcome.copied.isEmpty { try await target.makePrimary(name) }
            await leave(contents, &outcome)
            present[contents.principal] = contents
            outcome.copied.append(contents.principal)
        }
        guard hasAll || !isLogin else {
            let message = "there is no valid ticket-granting ticket. Sign in with: ksso login"
            throw KerberosError(.noCredentials, subject: "the login's cache", message: message)
        }
        return outcome
    }

    /// Destroys a cache of this project whose tickets the target has. Failing to do so does not prevent the agent from serving.
    private func leave(_ contents: CredentialCacheContents, _ outcome: inout Outcome) async {
        guard contents.isOwn, !isLogin, (try? await source.destroy(contents.name)) != nil else { return }
        outcome.moved.append(contents.principal)
    }

    /// Returns the principals that have a valid ticket-granting ticket at the target.
    package func presentPrincipals() async throws(KerberosError) -> [Principal] {
        await read(target, try await target.cacheNames())
            .filter { $0.ticketGrantingTicket?.isValid(at: $0.time(at: clock())) == true }
            .map(\.principal)
    }

    /// Returns the contents of the source's caches. A login's cache must be readable, because its user relies on it.
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
        // Tickets of this project are renewed until their renewable life ends, or reacquired without an end if possible.
        guard !(other.marks[Session.acquisitionSetting].map(Session.isReacquirable(setting:)) ?? false) else { return false }
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
            clockOffset: contents.clockOffset(at: clock())
        )
    }

    private func read(_ client: KerberosClient, _ names: [CredentialCacheName]) async -> [CredentialCacheContents] {
        var caches: [CredentialCacheContents] = []
        for name in names { if let contents = try? await client.contents(of: name) { caches.append(contents) } }
        return caches
    }
}

extension CredentialCacheContents {
    /// Whether the contents are of a later sign-in or renewal than the other's, if both are this project's.
    fileprivate func replaces(_ other: CredentialCacheContents) -> Bool { isOwn && other.isOwn && !isNoLater(than: other) }

    /// Whether the ticket-granting ticket starts no later than the other's. Both times are by the KDC's clock, so that they can be
    /// compared.
    fileprivate func isNoLater(than other: CredentialCacheContents) -> Bool {
        guard let own = ticketGrantingTicket, let others = other.ticketGrantingTicket else { return ticketGrantingTicket == nil }
        return own.times.starts <= others.times.starts
    }
}

extension Agent {
    /// Imports the tickets that the user had before the agent started. A failure is logged and does not prevent the agent from serving.
    ///
    /// - Returns: The principals whose tickets were moved, so that programs that read the system's default cache do not find them any more.
    func importTickets() async -> [Principal] {
        guard options.mode == .agent else { return [] }
        let source = RealmConfiguration(realm: "", base: .files(options.systemConfiguration))
        let system = KerberosClient(source)
        // A system-wide cache server already serves its tickets to every program, and copies would be neither renewed nor destroyed with
        // them.
        guard (try? await system.defaultCacheName().type) != "KCM" else { return [] }
        let target = RealmConfiguration(
            realm: "",
            libdefaults: ["kcm_socket": files.cacheSocket ?? options.runtime.kcmSocket],
            base: .files(options.systemConfiguration),
            defaultCacheName: "KCM:"
        )
        do throws(KerberosError) {
            let outcome = try await CacheImport(from: system, to: KerberosClient(target)).run()
            for principal in outcome.copied where !outcome.moved.contains(principal) {
                journal.note("the tickets of \(principal) were copied from the default cache.")
            }
            for principal in outcome.moved {
                journal.note("the tickets of \(principal) were moved to the agent. To share the tickets with a shell: eval \"$(ksso env)\"")
            }
            return outcome.moved
        } catch {
            journal.failure("the tickets of the default cache were not imported: \(error)")
            return []
        }
    }
}
