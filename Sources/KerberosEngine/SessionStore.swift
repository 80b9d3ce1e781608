internal import Kerberos

internal import struct Foundation.Date

/// The sessions in the credential caches that all programs share: the default cache's collection, and the folder for those that have
/// no place in it.
struct SessionStore: Sendable {
    let local: KerberosClient
    private let additional: (directory: PrivateDirectory, client: KerberosClient)?
    private let clock: @Sendable () -> Date

    init(_ options: KerberosExtension.Options, local: KerberosClient) {
        self.local = local
        clock = options.clock
        additional = options.additionalCacheDirectory.map { path in
            let configuration = RealmConfiguration(realm: "", base: options.base, defaultCacheName: "DIR:\(path)")
            return (PrivateDirectory(path: path), KerberosClient(configuration, trace: options.trace))
        }
    }

    /// All sessions, the default of each realm marked; the caches that can't be read are named beside them.
    func read() async throws(KerberosError) -> SessionList {
        var sessions: [Session] = []
        var damaged: [KerberosError] = []
        for (client, name) in try await caches() {
            do throws(KerberosError) {
                if let session = Session(try await client.contents(of: name), now: clock()) { sessions.append(session) }
            } catch  where error.code == .noCredentials {
                continue
            } catch {
                damaged.append(error)
            }
        }
        return SessionList(sessions: Self.markingDefaults(sessions), damagedCaches: damaged)
    }

    /// The cache in which a principal's tickets shall go: its own where it has one, else a new one beside those of others.
    func cache(for principal: Principal) async throws(KerberosError) -> CredentialCacheName {
        let list = try await read()
        if let own = list.sessions.first(where: { $0.principal == principal }) { return own.cache }
        let standard = try await local.defaultCacheName()
        let isOccupied = list.sessions.contains { $0.cache == standard || $0.cache.type == standard.type }
        if try await local.supportsCollections(standard) {
            // One that can't be read may be the primary one, which the collection's own name would overwrite.
            guard isOccupied || !list.damagedCaches.isEmpty else { return standard }
            return try await local.newCacheName(type: standard.type)
        }
        if let damage = list.damagedCaches.first(where: { $0.subject.hasSuffix(standard.residual) }) { throw damage }
        guard isOccupied else { return standard }
        guard let additional, additional.directory.make() else {
            throw KerberosError.occupied(standard, by: list.sessions.first { $0.cache == standard }?.principal)
        }
        return try await additional.client.newCacheName(type: "DIR")
    }

    private func caches() async throws(KerberosError) -> [(KerberosClient, CredentialCacheName)] {
        var result = try await local.cacheNames().map { (local, $0) }
        if let additional, additional.directory.isTrusted {
            let names = try await additional.client.cacheNames()
            result += names.filter { name in !result.contains { $0.1 == name } }.map { (additional.client, $0) }
        }
        return result
    }

    private static func markingDefaults(_ sessions: [Session]) -> [Session] {
        var sessions = sessions
        for realm in Set(sessions.map(\.realm)) {
            let indices = sessions.indices.filter { sessions[$0].realm == realm }
            let best = indices.max { left, right in
                (sessions[left].isSignedIn ? 1 : 0, sessions[left].chosenAt) < (
                    sessions[right].isSignedIn ? 1 : 0, sessions[right].chosenAt
                )
            }
            if let best { sessions[best].isDefault = true }
        }
        return sessions
    }
}
