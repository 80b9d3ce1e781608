import BenchmarkSupport
import Kerberos
import KerberosTesting

extension TestRealm {
    /// Signs alice in with this package's own client, into a new cache.
    ///
    /// - Returns: The client and the cache.
    @discardableResult
    func signIn() async throws -> (KerberosClient, CredentialCacheName) {
        let client = KerberosClient(configuration)
        let alice = try Principal("alice@\(name)")
        let credential = try await client.initialCredential(for: alice, using: .password(Secret("secret")))
        let cache = try await client.newCacheName(type: "MEMORY")
        try await client.replace(cache, principal: alice, credentials: [credential])
        return (client, cache)
    }

    /// Signs alice in with kinit.
    func kinit() async throws {
        let result = try await run("kinit", ["alice"], input: "secret\n")
        guard result.exitStatus == 0 else { throw Unavailable(reason: result.errors) }
    }
}
