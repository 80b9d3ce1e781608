import Foundation
import HTTPNegotiate
import Kerberos
import KerberosEngine
import KerberosTesting

/// What a process that plays a client needs: the profile's lists, the caches, and the krb5.conf that GSSAPI reads in it.
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

    /// A client in the surroundings of a home, whose tickets it finds there.
    ///
    /// - Parameter configurationPath: What `KRB5_CONFIG` names there; the realm's krb5.conf if nil.
    init(_ home: Home, configurationPath: String? = nil) throws {
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

    /// Call it first: the environment is the process's own, and libkrb5 has not looked at it yet.
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
