import HTTPNegotiate
import Kerberos
import KerberosEngine
import KerberosTesting
import KerberosTestingTraits
import TestSupport
import Testing

private let options = TestRealmOptions(users: ["alice": "secret"], services: ["HTTP/www.example.test"], faultProxy: true)

/// A sign-out while a ticket is being renewed.
@Suite(.testRealm(options), .serialized) struct RefreshEndTests {
    private static let renewable = InitialCredentialOptions(lifetime: .seconds(600), renewableLifetime: .seconds(3600))

    /// Signs in, starts a refresh, and calls the closure when the KDC has got its request.
    private func refresh(
        _ home: CacheHome,
        during fault: NetworkFault,
        _ call: (KerberosExtension) async throws -> Void
    ) async throws -> KerberosError? {
        let network = try home.realm.network
        let kerberos = home.makeExtension()
        let session = try await kerberos.signIn("alice", using: .secret, options: Self.renewable)
        let count = network.exchanges.count
        try await network.set(fault)
        let refresh = Task { try await kerberos.refresh(session) }
        _ = try await network.exchanges(count: count + 1)
        try await call(kerberos)
        let error = await kerberosError { try await refresh.value }
        try await network.set(.pass)
        return error
    }

    /// The KDC would answer later.
    @Test(arguments: ["FILE", "DIR"]) func `a sign-out ends a refresh that waits for the KDC`(cache: String) async throws {
        let home = try CacheHome(try #require(TestRealm.current), cache: cache)
        let error = try await refresh(home, during: .blackHole) { kerberos in
            let ended = try await kerberos.signOut().ended.count
            #expect(ended == 1)
        }
        #expect(error?.code == .noCredentials)
        #expect(try await home.makeExtension().sessions().sessions.isEmpty)
    }

    @Test func `no ticket comes back if the KDC answers during the sign-out`() async throws {
        let home = try CacheHome(try #require(TestRealm.current))
        for round in 0..<30 {
            _ = try await refresh(home, during: .delay(.milliseconds(round % 10), .reply)) { kerberos in
                let ended = try await kerberos.signOut().ended.count
                #expect(ended == 1)
            }
            #expect(try await home.makeExtension().sessions().sessions.isEmpty)
        }
    }
}
