internal import Kerberos
internal import SignOnPolicy
internal import Synchronization

internal import struct Foundation.Date

/// Creates and keeps one `KerberosClient` per realm for the owner's requests, and another for each guest (another user), so that no user's
/// requests wait for those of another.
final class RealmClients: Sendable {
    /// The options of the extension.
    let options: KerberosExtension.Options
    private struct Key: Hashable {
        let realm: String
        /// The guest's user ID; nil is the owner.
        let guest: UInt32?
    }

    private struct Entry {
        let client: KerberosClient
        var lastUse: Date
    }

    private let clients = Mutex<[Key: Entry]>([:])
    private let controllers = Mutex<[String: DomainControllers]>([:])
    /// How long a guest's client is kept after its last use, in seconds. It remembers which KDCs answer.
    static let idleLimit: Double = 300
    /// The client for operations that need no realm: listing and reading caches.
    let local: KerberosClient

    init(_ options: KerberosExtension.Options) {
        self.options = options
        local = KerberosClient(
            RealmConfiguration(
                realm: "",
                libdefaults: options.libdefaults,
                base: options.base,
                defaultCacheName: options.defaultCacheName
            ),
            trace: options.trace
        )
    }

    /// The client of a realm.
    ///
    /// - Parameter guest: The user ID of the guest whose requests the client sends; nil is the owner.
    func client(for realm: String, guest: UInt32? = nil) -> KerberosClient {
        let key = Key(realm: realm, guest: guest)
        let now = options.clock()
        return clients.withLock { clients in
            let client = clients[key]?.client ?? makeClient(for: realm)
            clients[key] = Entry(client: client, lastUse: now)
            guard guest != nil else { return client }
            // An operation in progress finishes with its own client.
            clients = clients.filter { $0.key.guest == nil || abs(now.timeIntervalSince($0.value.lastUse)) < Self.idleLimit }
            return client
        }
    }

    /// Removes the clients, together with the clock offsets that they have learned. Operations in progress finish with their own clients.
    func removeAll() { clients.withLock { $0.removeAll() } }

    /// Creates a client that no other request waits for.
    ///
    /// - Parameter isProtected: Whether its sign-ins use the FAST armor that the profile configures. A request that sends no secret does
    ///   not need the armor ticket.
    func makeClient(for realm: String, isProtected: Bool = true) -> KerberosClient {
        var configuration = configuration(for: realm)
        if !isProtected { configuration.armorCache = nil }
        return KerberosClient(configuration, controllers: controllers(of: realm), trace: options.trace)
    }

    /// The controllers of a realm's domain, which all clients of the realm share; nil if the profile forbids to look for them.
    func controllers(of realm: String) -> DomainControllers? {
        let configurations = options.configurations.filter { $0.realm == realm }
        let site = configurations.lazy.compactMap(\.siteCode).first
        guard site != nil || configurations.allSatisfy(\.discoversSite) else { return nil }
        return controllers.withLock { controllers in
            let found =
                controllers[realm]
                ?? DomainControllers(realm: realm, site: site, limit: options.controllerLimit, cacheFile: options.siteCacheFile)
            controllers[realm] = found
            return found
        }
    }

    /// The NetBIOS name of a realm's domain, from its controllers; nil if it is not a domain, none answers, or DNS is not asked for KDCs.
    func netBIOSName(of realm: String) async -> String? {
        guard let order = try? await client(for: realm).kdcOrder(), order.asksDNS else { return nil }
        return await controllers(of: realm)?.location()?.netBIOSName
    }

    private func configuration(for realm: String) -> RealmConfiguration {
        let rules = DecisionPolicy(options.configurations).signInRules(of: realm)
        var configuration = RealmConfiguration(
            realm: realm,
            preferredKDCs: options.configurations.filter { $0.realm == realm }.flatMap(\.preferredKDCs).map(\.mitSyntax),
            // Referrals across a trust lead to the KDCs of other realms.
            otherKDCs: Dictionary(grouping: options.configurations.filter { $0.realm != realm }, by: \.realm)
                .mapValues { $0.flatMap(\.preferredKDCs).map(\.mitSyntax) },
            domainRealms: options.configurations.domainRealmEntries,
            libdefaults: options.libdefaults,
            base: options.base,
            defaultCacheName: options.defaultCacheName,
            armorCache: options.armorCache ?? rules.armorCache.map(CredentialCacheName.init(rawValue:))
        )
        configuration.certificateIssuer = rules.issuerFilter
        return configuration
    }
}

extension KerberosExtension.Options {
    /// The relations that these options add to `[libdefaults]`.
    fileprivate var libdefaults: [String: String] { cacheSocket.map { ["kcm_socket": $0] } ?? [:] }
}
