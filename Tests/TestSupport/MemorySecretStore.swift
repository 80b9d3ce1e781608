package import Kerberos
internal import KerberosEngine
internal import Synchronization

/// A secret store in memory that counts the look-ups.
package final class MemorySecretStore: SecretStore {
    private struct State {
        var secrets: [Principal: Secret] = [:]
        var lookUps = 0
    }

    package let name = "the test's memory"
    /// Whether removing a password fails.
    private let isReadOnly: Bool
    private let state: Mutex<State>

    /// Creates an empty store.
    package init() {
        isReadOnly = false
        state = Mutex(State())
    }

    /// Creates a store with the passwords of some principals.
    package init(_ secrets: [String: String], isReadOnly: Bool = false) throws {
        self.isReadOnly = isReadOnly
        var initial = State()
        for (name, secret) in secrets { initial.secrets[try Principal(name)] = Secret(secret) }
        state = Mutex(initial)
    }

    /// The principals with a stored password.
    package var principals: [String] { state.withLock { $0.secrets.keys.map(\.description).sorted() } }
    package var lookUps: Int { state.withLock { $0.lookUps } }

    package func secret(for principal: Principal) async throws(KerberosError) -> Secret? {
        state.withLock { state in
            state.lookUps += 1
            return state.secrets[principal]
        }
    }

    package func store(_ secret: Secret, for principal: Principal) async throws(KerberosError) -> String {
        state.withLock { $0.secrets[principal] = secret }
        return "in \(name)"
    }

    package func remove(_ principal: Principal) async throws(KerberosError) -> Bool {
        guard !isReadOnly else { throw KerberosError(.secretStoreUnusable, subject: principal.description, message: "it is read-only.") }
        return state.withLock { $0.secrets.removeValue(forKey: principal) != nil }
    }
}
