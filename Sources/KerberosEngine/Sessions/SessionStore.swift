internal import Kerberos
internal import SignOnPolicy
internal import SystemSupport

internal import struct Foundation.Date

/// The sessions in the credential caches that all programs share: the default cache's collection, and the directory for principals that
/// have no place in it.
///
/// Every change of the sessions forgets the credentials that tokens are created from.
struct SessionStore: SessionReader {
    private let clients: RealmClients
    private let initiators: InitiatorCredentialCache
    private let additional: (directory: PrivateDirectory, client: KerberosClient)?
    private let clock: @Sendable () -> Date
    private let configurations: [ExtensionConfiguration]

    init(_ options: KerberosExtension.Options, clients: RealmClients, initiators: InitiatorCredentialCache) {
        self.clients = clients
        self.initiators = initiators
        clock = options.clock
        configurations = options.configurations
        additional = options.additionalCacheDirectory.map { path in
            let configuration = RealmConfiguration(realm: "", base: options.base, defaultCacheName: "DIR:\(path)")
            return (PrivateDirectory(path: path), KerberosClient(configuration, trace: options.trace))
        }
    }

    /// The client that reads and writes the default cache's collection.
    var local: KerberosClient { clients.local }

    /// This machine's time.
    var now: Date { clock() }

    /// All sessions, with the default of each realm marked, and the errors of the caches that cannot be read.
    func read() async throws(KerberosError) -> SessionList {
        var sessions: [Session] = []
        var damaged: [KerberosError] = []
        var occupied: [CredentialCacheName] = []
        let generation = initiators.generation
        let caches = try await caches()
        for (client, name) in caches {
            do throws(KerberosError) {
                let listing = try await client.listing(of: name)
                if let session = session(of: listing) { sessions.append(session) }
                if hasValidTicket(listing) { occupied.append(listing.name) }
            } catch  where error.code == .noCredentials {
                continue
            } catch {
                damaged.append(error)
            }
        }
        let standard = try await local.defaultCacheName()
        let primary = primaryCache(standard, among: caches)
        return SessionList(
            sessions: Self.markingDefaults(sessions, primary: primary),
            damagedCaches: damaged,
            occupiedCaches: occupied,
            caches: caches.map(\.name),
            primaryCache: primary ?? standard,
            generation: generation
        )
    }

    /// Whether this process has signed in or out, or switched, since the sessions were read.
    func hasChanged(since list: SessionList) -> Bool { list.generation != initiators.generation }

    /// The session of a cache's contents; nil if there is none. It is not marked as a default.
    private func session(of listing: CredentialCacheListing) -> Session? {
        guard var session = Session(listing, now: clock()) else { return nil }
        let rules = configurations.passwordRules(for: session.realm)
        session.adoptAccount(replicationTime: rules.replicationTime)
        session.passwordExpires = rules.expiry(announced: session.passwordExpires, changed: session.passwordChanged)
        return session
    }

    private func hasValidTicket(_ listing: CredentialCacheListing) -> Bool {
        listing.tickets.contains { $0.expires > listing.time(at: clock()) }
    }

    /// The collection's primary cache, as set by kswitch or this project, which libkrb5 lists first; nil if the default cache is not a
    /// collection.
    private func primaryCache(
        _ standard: CredentialCacheName,
        among caches: [(client: KerberosClient, name: CredentialCacheName)]
    ) -> CredentialCacheName? {
        standard.isCollection ? caches.first { $0.client === local }?.name : nil
    }

    /// The place for a principal's tickets.
    private enum Place {
        case cache(CredentialCacheName)
        /// A new cache next to those of other principals.
        case new(type: String, KerberosClient)
    }

    /// Checks that there is a place for a principal's tickets, before a person is prompted for them. Reads all caches only if another
    /// principal occupies the default cache.
    ///
    /// - Parameter list: The sessions, if they have been read.
    func checkPlace(for principal: Principal, among list: SessionList? = nil) async throws(KerberosError) {
        if let list, list.generation != nil {
            _ = try await place(for: principal, in: list)
            return
        }
        let standard = try await local.defaultCacheName()
        guard !standard.isCollection else {
            _ = try await local.cacheNames()
            return
        }
        do throws(KerberosError) {
            let listing = try await local.listing(of: standard)
            if listing.principal == principal || !hasValidTicket(listing) { return }
        } catch  where error.code == .noCredentials {
            return
        } catch {}  // the principal may have a cache of its own
        _ = try await place(for: principal, in: try await read())
    }

    /// The cache for a principal's tickets: its own if it has one, else an unused default cache or a new one.
    private func cache(for principal: Principal, in list: SessionList) async throws(KerberosError) -> CredentialCacheName {
        switch try await place(for: principal, in: list) {
        case .cache(let name): name
        case .new(let type, let client): try await client.newCacheName(type: type)
        }
    }

    /// The error of the default cache if it cannot be read.
    func damageOfDefaultCache(_ list: SessionList) async throws(KerberosError) -> KerberosError? {
        let standard = try await local.defaultCacheName()
        return list.damagedCaches.first { $0.subject.hasSuffix(standard.residual) }
    }

    private func place(for principal: Principal, in list: SessionList) async throws(KerberosError) -> Place {
        if let own = list.sessions.first(where: { $0.principal == principal }) { return .cache(own.cache) }
        let standard = try await local.defaultCacheName()
        let isOccupied = list.occupiedCaches.contains { $0 == standard || $0.type == standard.type }
        if standard.isCollection {
            // The unreadable cache may be the primary one, which the collection's own name would overwrite.
            guard isOccupied || !list.damagedCaches.isEmpty else { return .cache(standard) }
            return .new(type: standard.type, local)
        }
        if let damage = try await damageOfDefaultCache(list) { throw damage }
        guard isOccupied else { return .cache(standard) }
        guard let additional, additional.directory.make() else {
            throw KerberosError.occupied(standard, by: list.sessions.first { $0.cache == standard }?.principal)
        }
        return .new(type: "DIR", additional.client)
    }

    private func caches() async throws(KerberosError) -> [(client: KerberosClient, name: CredentialCacheName)] {
        var result: [(client: KerberosClient, name: CredentialCacheName)] = try await local.cacheNames().map { (local, $0) }
        if let additional, additional.directory.isTrusted {
            let names = try await additional.client.cacheNames()
            result += names.filter { name in !result.contains { $0.name == name } }.map { (additional.client, $0) }
        }
        return result
    }

    /// The session of a cache that has just been written, as a default of its realm or not among the sessions that were read before.
    private func session(writtenTo cache: CredentialCacheName, among list: SessionList) async throws(KerberosError) -> Session {
        // The listing has the full name of the cache. A collection's name means its primary cache.
        let listing = try await local.listing(of: cache)
        guard let session = session(of: listing) else { throw .notSignedIn(listing.principal) }
        // A cache outside the collections was named by the caller, and is no default.
        let caches = try await caches()
        guard caches.contains(where: { $0.name == session.cache }) else { return session }
        let primary = primaryCache(try await local.defaultCacheName(), among: caches)
        let others = list.sessions.filter { $0.cache != session.cache }
        return Self.markingDefaults(others + [session], primary: primary).last ?? session
    }

    /// Marks the default session of each realm. A session with a valid ticket precedes others, then the one in the primary cache, then the
    /// one that signed in or was selected last.
    private static func markingDefaults(_ sessions: [Session], primary: CredentialCacheName?) -> [Session] {
        func rank(_ session: Session) -> (Int, Int, Date) {
            (session.isSignedIn ? 1 : 0, session.cache == primary ? 1 : 0, session.chosenAt)
        }
        var sessions = sessions
        for realm in Set(sessions.map(\.realm)) {
            let indices = sessions.indices.filter { sessions[$0].realm == realm }
            if let best = indices.max(by: { rank(sessions[$0]) < rank(sessions[$1]) }) { sessions[best].isDefault = true }
        }
        return sessions
    }
}

extension SessionStore {
    /// The session of a cache.
    func session(in cache: CredentialCacheName) async throws(KerberosError) -> Session {
        // The listing has the full name of the cache. A collection's name means its primary cache.
        let listing = try await local.listing(of: cache)
        let list = try await read()
        if let session = list.sessions.first(where: { $0.cache == listing.name }) { return session }
        // The cache is outside the collections, because the caller named it.
        guard let session = session(of: listing) else { throw .notSignedIn(listing.principal) }
        return session
    }

    /// Stores the ticket of a sign-in in the given or selected cache, and makes that the primary one.
    ///
    /// - Parameters:
    ///   - isUnattended: Whether no person requested the sign-in. If so, the primary cache of another signed-in principal stays the primary
    ///     one.
    ///   - known: The sessions, if they were read before the sign-in.
    func keep(
        _ answer: SignInTicket,
        marks: [String: String],
        cache: CredentialCacheName? = nil,
        isUnattended: Bool = false,
        among known: SessionList? = nil
    ) async throws(KerberosError) -> Session {
        let ticket = answer.credential
        let (list, target, former) = try await target(for: ticket.client, named: cache, among: known)
        let keepsPrimary = isUnattended && list.primary.map { $0.isSignedIn && $0.principal != ticket.client } ?? false
        let client = clients.client(for: ticket.client.realm)
        var marks = marks
        marks[SessionMark.passwordExpires] = ticket.passwordExpires.map(SessionMark.text)
        // A cache that is about to be overwritten may say when the password was changed, and have a name by which a profile knows the
        // principal.
        let kept = former?.principal == ticket.client ? former?.marks ?? [:] : [:]
        marks[SessionMark.passwordChanged] = answer.passwordChanged.map(SessionMark.text) ?? kept[SessionMark.passwordChanged]
        if marks[SessionMark.alias] == nil, let alias = kept[SessionMark.alias], (try? Principal(alias))?.isEnterpriseName == true {
            marks[SessionMark.alias] = alias
        }
        try await client.replace(
            target,
            principal: ticket.client,
            credentials: [ticket],
            marks: marks,
            clockOffset: answer.clockOffset
        )
        if !keepsPrimary, (try? await client.supportsCollections(target)) == true { try? await client.makePrimary(target) }
        initiators.removeAll()
        return try await session(writtenTo: target, among: list)
    }

    /// The cache for a principal's tickets with its contents, and all sessions. The caches are read again if those that were read before
    /// the sign-in have changed, because another program may have signed in meanwhile.
    private func target(
        for principal: Principal,
        named cache: CredentialCacheName?,
        among known: SessionList?
    ) async throws(KerberosError) -> (list: SessionList, cache: CredentialCacheName, contents: CredentialCacheContents?) {
        if let known, !hasChanged(since: known), try await caches().map(\.name) == known.caches {
            let target = if let cache { cache } else { try await self.cache(for: principal, in: known) }
            let contents = try? await local.contents(of: target)
            if cache != nil || contents.map({ !$0.belongsToAnother(than: principal, at: now) }) ?? true { return (known, target, contents) }
        }
        let list = try await read()
        let target = if let cache { cache } else { try await self.cache(for: principal, in: list) }
        return (list, target, try? await local.contents(of: target))
    }

    /// Makes a signed-in principal the default of its realm, and its cache the primary one of its collection.
    ///
    /// - Throws: `KerberosError`; `noCredentials` if the principal is not signed in.
    func makeDefault(_ principal: Principal) async throws(KerberosError) -> Session {
        guard let session = try await read().session(of: principal), session.isSignedIn else {
            throw .notSignedIn(principal)
        }
        try await local.setMark(SessionMark.chosenAt, to: SessionMark.text(clock()), in: session.cache)
        try? await local.makePrimary(session.cache)  // fails for a single FILE cache, which has no collection
        initiators.removeAll()
        return try await read().session(of: principal) ?? session
    }

    /// Marks the principal's sessions as acquired with a typed password, so that they are no longer reacquired automatically.
    func unmarkStoredSecret(of principal: Principal) async {
        let sessions = (try? await read().sessions(of: principal)) ?? []
        for session in sessions where session.acquiredBy == .storedSecret {
            try? await local.setMark(SessionMark.acquiredBy, to: PasswordCredential.name, in: session.cache)
        }
    }
}

extension CredentialCacheContents {
    /// Whether these are valid tickets of another principal.
    fileprivate func belongsToAnother(than principal: Principal, at now: Date) -> Bool {
        self.principal != principal && credentials.contains { $0.isValid(at: time(at: now)) }
    }
}
