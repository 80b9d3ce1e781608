internal import HTTPNegotiate
internal import Kerberos
internal import Synchronization

/// One `KerberosClient` for each realm, made when it is first needed and kept.
final class RealmClients: Sendable {
    private let options: KerberosExtension.Options
    private let clients = Mutex<[String: KerberosClient]>([:])
    /// For what needs no realm: listing and reading caches.
    let local: KerberosClient

    init(_ options: KerberosExtension.Options) {
        self.options = options
        local = KerberosClient(
            RealmConfiguration(realm: "", base: options.base, defaultCacheName: options.defaultCacheName),
            trace: options.trace
        )
    }

    func client(for realm: String) -> KerberosClient {
        clients.withLock { clients in
            if let client = clients[realm] { return client }
            let client = makeClient(for: realm)
            clients[realm] = client
            return client
        }
    }

    /// A client that nobody else waits for.
    func makeClient(for realm: String) -> KerberosClient {
        KerberosClient(configuration(for: realm), trace: options.trace)
    }

    private func configuration(for realm: String) -> RealmConfiguration {
        RealmConfiguration(
            realm: realm,
            preferredKDCs: options.configurations.filter { $0.realm == realm }.flatMap(\.preferredKDCs).map(\.mitSyntax),
            domainRealms: Self.domainRealms(options.configurations),
            base: options.base,
            defaultCacheName: options.defaultCacheName
        )
    }

    /// A profile's `example.com` covers the host and its subdomains; krb5.conf needs an entry for each.
    private static func domainRealms(_ configurations: [ExtensionConfiguration]) -> [String: String] {
        var result: [String: String] = [:]
        for (realm, suffixes) in configurations.flatMap(\.domainRealmMapping) {
            for suffix in suffixes.map({ $0.lowercased() }) {
                // The first profile wins: the machine's stand before the user's.
                result[suffix] = result[suffix] ?? realm
                if !suffix.hasPrefix(".") { result[".\(suffix)"] = result[".\(suffix)"] ?? realm }
            }
        }
        return result
    }
}
