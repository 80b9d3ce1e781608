internal import Kerberos
internal import Synchronization

/// A store of passwords, and what this process knows of those in it that must not be sent again.
final class StoredSecrets: Sendable {
    let store: any SecretStore
    private let refused = Mutex<[Principal: Secret]>([:])
    private let forbidden = Mutex<Set<Principal>>([])

    init(_ store: any SecretStore) { self.store = store }

    /// The password that is kept, unless the KDC has refused it.
    func secret(for principal: Principal) async throws(KerberosError) -> Secret? {
        guard let secret = try await store.secret(for: principal) else { return nil }
        return refused.withLock { $0[principal] } == secret ? nil : secret
    }

    /// Forgets a password that the KDC has refused; keeps it from being sent again where the store can't forget it.
    func refuse(_ secret: Secret, of principal: Principal) async throws(KerberosError) {
        refused.withLock { $0[principal] = secret }
        // Another one may have been kept meanwhile.
        guard try await store.secret(for: principal) == secret else { return }
        try await store.remove(principal)
    }

    /// Removes what is there of a principal whose profile allows nothing to be kept; looks once.
    func removeForbidden(_ principal: Principal) async throws(KerberosError) {
        guard forbidden.withLock({ $0.insert(principal).inserted }) else { return }
        try await store.remove(principal)
    }
}
