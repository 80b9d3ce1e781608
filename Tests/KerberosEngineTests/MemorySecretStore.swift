import KerberosEngine
import Synchronization

@testable import Kerberos

/// Keeps passwords in memory, and counts how often it is asked for one.
final class MemorySecretStore: SecretStore {
    private struct State {
        var secrets: [Principal: Secret] = [:]
        var lookUps = 0
    }

    let name = "the test's memory"
    /// Whether it can't forget what it was given.
    private let isReadOnly: Bool
    private let state: Mutex<State>

    init(_ secrets: [String: String] = [:], isReadOnly: Bool = false) throws {
        self.isReadOnly = isReadOnly
        var kept = State()
        for (name, secret) in secrets { kept.secrets[try Principal(name)] = Secret(secret) }
        state = Mutex(kept)
    }

    /// Whose passwords are kept.
    var principals: [String] { state.withLock { $0.secrets.keys.map(\.description).sorted() } }
    var lookUps: Int { state.withLock { $0.lookUps } }

    func secret(for principal: Principal) async throws(KerberosError) -> Secret? {
        state.withLock { state in
            state.lookUps += 1
            return state.secrets[principal]
        }
    }

    func store(_ secret: Secret, for principal: Principal) async throws(KerberosError) -> String {
        state.withLock { $0.secrets[principal] = secret }
        return "in \(name)"
    }

    func remove(_ principal: Principal) async throws(KerberosError) -> Bool {
        guard !isReadOnly else { throw KerberosError(.secretStoreUnusable, subject: principal.description, message: "it is read-only.") }
        return state.withLock { $0.secrets.removeValue(forKey: principal) != nil }
    }
}
