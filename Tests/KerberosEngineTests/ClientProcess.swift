import Foundation
import Kerberos
import KerberosEngine
import KerberosTesting
import SignOnPolicy

/// The settings that a child process needs to act as a client: the profile's lists, the caches, and the krb5.conf that its GSSAPI reads.
struct ClientProcess: Codable, Sendable {
    let configurationPath: String
    let realmConfigurationPath: String
    let realm: String
    let cache: String?
    let keytabPath: String
    let plainHTTPHosts: [String]
    let delegationHosts: [String]
    let unconditionalDelegationHosts: [String]
    let servicePrincipals: [String: String]

    /// Creates a client that uses the tickets of a home.
    ///
    /// - Parameter configurationPath: The value of `KRB5_CONFIG` in the process; the realm's krb5.conf if nil.
    init(_ home: CacheHome, configurationPath: String? = nil) throws {
        let profile = home.options.configurations[0]
        self.configurationPath = configurationPath ?? home.realm.configurationPath
        realmConfigurationPath = home.realm.configurationPath
        realm = profile.realm
        cache = home.options.defaultCacheName
        keytabPath = home.realm.keytabPath
        plainHTTPHosts = profile.plainHTTPHosts.map(\.description)
        delegationHosts = profile.delegationHosts.map(\.description)
        unconditionalDelegationHosts = profile.unconditionalDelegationHosts.map(\.description)
        servicePrincipals = Dictionary(uniqueKeysWithValues: profile.servicePrincipals.map { ($0.key.description, $0.value) })
    }

    /// Sets `KRB5_CONFIG` in the child process. Call it first, before libkrb5 reads the environment.
    func begin() {
        setenv("KRB5_CONFIG", configurationPath, 1)
    }

    func makeExtension() throws -> KerberosExtension {
        var profile = ExtensionConfiguration(
            realm: realm,
            hosts: [try HostRule(".example.test")],
            plainHTTPHosts: try rules(plainHTTPHosts)
        )
        profile.delegationHosts = try rules(delegationHosts)
        profile.unconditionalDelegationHosts = try rules(unconditionalDelegationHosts)
        profile.servicePrincipals = try Dictionary(uniqueKeysWithValues: servicePrincipals.map { (try Origin(url: $0.key), $0.value) })
        return KerberosExtension(.init(configurations: [profile], base: .files([realmConfigurationPath]), defaultCacheName: cache))
    }

    private func rules(_ texts: [String]) throws -> [HostRule] {
        try texts.map { text throws(HostRuleError) in try HostRule(text) }
    }
}
