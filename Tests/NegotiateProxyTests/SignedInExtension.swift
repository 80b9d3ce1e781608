import KerberosEngine
import KerberosTesting
import SignOnPolicy
import TestSupport

import struct Kerberos.Secret

extension TestRealm {
    /// An extension with a session of alice, whose password is `alice-secret`.
    ///
    /// - Parameters:
    ///   - hosts: The hosts that get tickets, also over plain http.
    ///   - proxies: The upstream proxies that get tickets.
    ///   - unproven: The hosts that need not prove who they are.
    func signedInExtension(
        hosts: [String] = ["localhost"],
        proxies: [String] = ["localhost"],
        unproven: [String] = [],
        signsIn: Bool = true
    ) async throws -> KerberosExtension {
        let rules = try hosts.map { try HostRule($0) }
        var configuration = ExtensionConfiguration(realm: name, hosts: rules, plainHTTPHosts: rules)
        configuration.proxyHosts = try proxies.map { try HostRule($0) }
        configuration.optionalMutualAuthenticationHosts = try unproven.map { try HostRule($0) }
        let path = newPath()
        let sso = KerberosExtension(
            KerberosExtension.Options(
                configurations: [configuration],
                base: .files([configurationPath]),
                defaultCacheName: "FILE:\(path)-cache",
                additionalCacheDirectory: "\(path)-caches"
            )
        )
        if signsIn { try await sso.signIn("alice", using: .password(Secret("alice-secret"))) }
        return sso
    }
}
