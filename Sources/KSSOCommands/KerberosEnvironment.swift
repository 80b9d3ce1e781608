internal import HTTPNegotiate
internal import KerberosEngine
internal import KerberosSSO
internal import SSOAgentClient

/// The variables with which stock Kerberos programs share our tickets, and the configuration file they name.
struct KerberosEnvironment {
    let variables: [(name: String, value: String)]

    /// Writes the configuration file and finds the cache of the default session.
    init(_ sso: SingleSignOn, environment: [String: String]) async throws {
        let cacheSocket = RuntimeDirectory(environment: environment).cacheSocket
        let realm = try await sso.kerberos.defaultRealm()
        let sessions = try await sso.sessions().sessions
        let session = sessions.first { $0.realm == realm && $0.isDefault } ?? sessions.first(where: \.isDefault)
        var variables: [(name: String, value: String)] = []
        if !sso.kerberos.policy.configurations.isEmpty || cacheSocket != nil {
            // Most programs bind nothing, and a server that checks bindings would refuse their tokens if they claimed to know them.
            let file = KerberosConfigurationFile(
                sso.kerberos.policy.configurations,
                defaultRealm: realm,
                bindsTokens: false,
                cacheSocket: cacheSocket
            )
            variables.append(("KRB5_CONFIG", try file.install(environment: environment)))
        }
        if cacheSocket != nil {
            // The collection: who signs in, or is switched to, later answers as well.
            variables.append(("KRB5CCNAME", "KCM:"))
        } else if let session {
            variables.append(("KRB5CCNAME", session.cache.rawValue))
        }
        self.variables = variables
    }
}
