internal import Foundation
internal import Kerberos
internal import KerberosEngine
internal import KerberosSSO
internal import SSOAgentClient

/// Ends the sessions of the system's own default cache where an agent's caches are the default ones: the next agent would take them over.
struct SystemSignOut {
    let environment: [String: String]

    /// Destroys all tickets there, whoever acquired them.
    ///
    /// - Returns: Who was signed out; empty where no agent runs, for then there are no other caches.
    func run(_ principal: Principal?, realm: String?) async throws -> [Principal] {
        guard RuntimeDirectory(environment: environment).cacheSocket != nil else { return [] }
        var settings = SingleSignOn.Settings()
        settings.base = .files(KerberosConfigurationFile.systemFiles(environment: environment))
        let name = try await KerberosClient(RealmConfiguration(realm: "", base: settings.base)).defaultCacheName()
        guard name.type != "KCM" else { return [] }
        settings.defaultCacheName = name.rawValue
        let system = try await SingleSignOn(.inProcess([]), settings: settings)
        return try await system.signOut(principal, realm: realm, includingOthers: true).ended.map(\.principal)
    }
}
