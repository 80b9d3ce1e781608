internal import Foundation
internal import HTTPNegotiate
internal import KerberosEngine
internal import KerberosSSO

/// The variables with which stock Kerberos programs share our tickets, and the configuration file they name.
struct KerberosEnvironment {
    let variables: [(name: String, value: String)]

    /// Writes the configuration file and finds the cache of the default session.
    init(_ sso: SingleSignOn, environment: [String: String]) async throws {
        let runtime = PrivateDirectory(path: RuntimeDirectory(environment: environment).path)
        guard runtime.make() else {
            throw CommandFailure(.failed, "\(runtime.path): the folder can't be made, or others can write to it. Set KSSO_RUNTIME_DIR.")
        }
        let realm = try await sso.kerberos.defaultRealm()
        let sessions = try await sso.sessions().sessions
        let session = sessions.first { $0.realm == realm && $0.isDefault } ?? sessions.first(where: \.isDefault)
        var variables: [(name: String, value: String)] = []
        if !sso.kerberos.policy.configurations.isEmpty {
            let path = runtime.path + "/krb5.conf"
            let text = KerberosConfigurationFile(sso.kerberos.policy.configurations, defaultRealm: realm).text
            do {
                try Data(text.utf8).write(to: URL(fileURLWithPath: path), options: .atomic)
            } catch {
                throw CommandFailure(.failed, "\(path): the file can't be written.")
            }
            let base = environment["KRB5_CONFIG"].map { Self.without(path, in: $0) } ?? "/etc/krb5.conf"
            variables.append(("KRB5_CONFIG", base.isEmpty ? path : "\(path):\(base)"))
        }
        if let session { variables.append(("KRB5CCNAME", session.cache.rawValue)) }
        self.variables = variables
    }

    /// `ksso exec` inside `ksso exec` must not name our file twice.
    private static func without(_ path: String, in list: String) -> String {
        list.split(separator: ":").filter { $0 != path }.joined(separator: ":")
    }
}
