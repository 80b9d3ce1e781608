internal import HTTPNegotiate
internal import Kerberos
internal import Synchronization

/// One `KerberosClient` for each realm, and one more for other users' requests, made when they are first needed and kept.
final class RealmClients: Sendable {
    private let options: KerberosExtension.Options
    private struct Key: Hashable {
        let realm: String
        let isForGuests: Bool
    }

    private let clients = Mutex<[Key: KerberosClient]>([:])
    /// For what needs no realm: listing and reading caches.
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

    /// - Parameter isForGuests: Whether it asks the KDC for other users, for whom the owner's requests do not wait.
    func client(for realm: String, isForGuests: Bool = false) -> KerberosClient {
        clients.withLock { clients in
            let key = Key(realm: realm, isForGuests: isForGuests)
            if let client = clients[key] { return client }
            let client = makeClient(for: realm)
            clients[key] = client
            return client
        }
    }

    /// Forgets the clients, and with them what they have learned of the KDCs' clocks; what is under way ends with its own.
    func removeAll() { clients.withLock { $0.removeAll() } }

    /// A client that nobody else waits for.
    ///
    /// - Parameter isProtected: Whether its sign-ins are protected as the profile says: for one that sends nothing of worth the ticket that
    ///   does it need not be there.
    func makeClient(for realm: String, isProtected: Bool = true) -> KerberosClient {
        var configuration = configuration(for: realm)
        if !isProtected { configuration.armorCache = nil }
        return KerberosClient(configuration, trace: options.trace)
    }

    private func configuration(for realm: String) -> RealmConfiguration {
        let rules = DecisionPolicy(options.configurations).signInRules(of: realm)
        return RealmConfiguration(
            realm: realm,
            preferredKDCs: options.configurations.filter { $0.realm == realm }.flatMap(\.preferredKDCs).map(\.mitSyntax),
            // A trust leads to the KDCs of other realms.
            otherKDCs: Dictionary(grouping: options.configurations.filter { $0.realm != realm }, by: \.realm)
                .mapValues { $0.flatMap(\.preferredKDCs).map(\.mitSyntax) },
            domainRealms: options.configurations.domainRealmEntries,
            libdefaults: options.libdefaults.merging(certificateRelations(rules)) { $1 },
            base: options.base,
            defaultCacheName: options.defaultCacheName,
            armorCache: options.armorCache ?? rules.armorCache.map(CredentialCacheName.init(rawValue:))
        )
    }

    /// What leaves the certificates in question that the profile's filter lets through.
    private func certificateRelations(_ rules: SignInRules) -> [String: String] {
        guard let filter = rules.issuerFilter else { return [:] }
        return ["pkinit_cert_match": CertificateFilter.rule(issuer: filter)]
    }
}

extension KerberosExtension.Options {
    /// What these options put into krb5.conf's section of the name.
    fileprivate var libdefaults: [String: String] { cacheSocket.map { ["kcm_socket": $0] } ?? [:] }
}

extension KerberosExtension {
    /// Whether a KDC of a realm answers: it is asked for a ticket, as at the beginning of a sign-in, and no answer is ever proved.
    ///
    /// No password and no key is sent, so no account can be locked by it.
    ///
    /// - Parameters:
    ///   - realm: The realm.
    ///   - name: A principal that signs in there, which looks to the KDC like any sign-in that was not finished; nil is the realm's own.
    ///   - deadline: How long to wait for an answer.
    package func reachesKDC(of realm: String, askingFor name: String? = nil, deadline: Duration = .seconds(4)) async -> Bool {
        do throws(KerberosError) {
            let principal = try Principal(name ?? "krbtgt/\(realm)", defaultRealm: realm)
            // Of its own, so that it neither waits for the realm's other requests nor holds them up, and sees the network as it is now.
            let client = clients.makeClient(for: realm, isProtected: false)
            _ = try await client.initialCredential(for: principal, using: .prompter(GivenAnswer(nil)), options: .init(deadline: deadline))
            return true
        } catch {
            return ![.kdcUnreachable, .realmUnknown, .canceled, .configurationInvalid].contains(error.code)
        }
    }
}
