import Kerberos
import KerberosEngine
import Synchronization

/// Stores passwords in memory.
final class KeptSecretStore: SecretStore {
    let name = "the test's memory"
    private let secrets = Mutex<[Principal: Secret]>([:])

    func secret(for principal: Principal) async throws(KerberosError) -> Secret? { secrets.withLock { $0[principal] } }

    func store(_ secret: Secret, for principal: Principal) async throws(KerberosError) -> String {
        secrets.withLock { $0[principal] = secret }
        return "in \(name)"
    }

    func remove(_ principal: Principal) async throws(KerberosError) -> Bool {
        secrets.withLock { $0.removeValue(forKey: principal) != nil }
    }
}
