internal import ActiveDirectory
internal import Kerberos
internal import SignOnPolicy

/// Reads the accounts of sessions in the directories of their domains.
struct AccountReadings: Sendable {
    let options: KerberosExtension.Options
    private let clients: RealmClients
    let store: SessionStore

    init(_ options: KerberosExtension.Options, clients: RealmClients, store: SessionStore) {
        self.options = options
        self.clients = clients
        self.store = store
    }

    /// Reads the account of a session's principal in its domain's directory with the session's ticket, and stores the account's status in
    /// the session's cache. Returns nil if the realm is not an Active Directory domain, or if sign-ins do not search for its controllers.
    func read(_ session: Session) async throws(DirectoryError) -> DomainDirectory.Record? {
        guard session.isSignedIn, let directory = await directory(of: session.realm) else { return nil }
        // The ticket for the controller is in the session's cache, because the KDC issues no new one to an account that has been disabled.
        let record = try await directory.record(
            of: session.principal,
            using: clients.client(for: session.realm),
            cache: session.cache
        )
        let status = AccountStatus(record.account, at: options.clock(), clockOffset: session.clockOffset)
        // Another principal may have signed in to the cache meanwhile.
        if let present = try? await store.local.listing(of: session.cache), present.principal == session.principal {
            try? await store.local.setMark(SessionMark.account, to: status.text, in: session.cache)
        }
        return record
    }

    /// The names of the accounts that have a service principal name in the directory of a session's domain, read with the session's
    /// ticket. Returns nil if the realm is not an Active Directory domain, or if sign-ins do not search for its controllers.
    func accounts(ofService service: Principal, for session: Session) async throws(DirectoryError) -> [String]? {
        guard session.isSignedIn, let directory = await directory(of: session.realm) else { return nil }
        return try await directory.accounts(ofService: service, using: clients.client(for: session.realm), cache: session.cache)
    }

    /// The directory of a realm, at the nearest controllers; nil if sign-ins do not search for controllers, or find none.
    private func directory(of realm: String) async -> DomainDirectory? {
        guard let order = try? await clients.client(for: realm).kdcOrder(), order.asksDNS,
            let location = await clients.controllers(of: realm)?.location()
        else { return nil }
        let answering = location.controllers.filter { $0.latency != nil }
        let hosts = (answering.isEmpty ? location.controllers : answering).map(\.address.host)
        var settings = options.directory
        let configurations = options.configurations.filter { $0.realm == realm }
        settings.requiresTLS = settings.requiresTLS || configurations.contains(where: \.requiresTLSForLDAP)
        return DomainDirectory(realm: realm, controllers: hosts, options: settings)
    }
}
