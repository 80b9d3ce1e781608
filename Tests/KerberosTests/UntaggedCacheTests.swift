import Foundation
import Kerberos
import KerberosTesting
import TestSupport
import Testing

/// Caches that do not say how far their KDC's clock is off, read by a client that has met one that does.
@Suite struct UntaggedCacheTests {
    private static let service = "HTTP/www.example.test"
    private static let options = TestRealmOptions(users: ["alice": "secret"], services: [service], clockOffset: .seconds(-7200))

    /// A cache from a KDC two hours behind; the KDC goes by this machine's clock then.
    private func far(_ realm: TestRealm) async throws -> SignedIn {
        let user = try await realm.signIn()
        try await realm.stopKDC()
        try await realm.startKDC()
        return user
    }

    /// A cache without the tag.
    private func near(_ realm: TestRealm) async throws -> SignedIn {
        let user = try await realm.signIn(options: .init(renewableLifetime: .seconds(86_400)))
        try dropHeaderTags(ofCacheAt: user.cache.residual)
        return user
    }

    private func acceptor(_ realm: TestRealm) throws -> AcceptorCredential {
        try AcceptorCredential(keytab: realm.keytabPath, replayCache: .disabled)
    }

    @Test func `the offset of another cache is not taken over`() async throws {
        try await withTestRealm(Self.options) { realm in
            let (far, near) = (try await far(realm), try await near(realm))
            let client = realm.client
            for _ in 0..<2 {
                #expect(try await client.contents(of: far.cache).clockOffset < -7000)
                #expect(try await client.contents(of: near.cache).clockOffset == 0)
            }
            // Reading with the intent to go by it leaves it in the context.
            _ = try await client.initiatorCredential(for: near.ticket, from: far.cache)
            #expect(try await client.contents(of: near.cache).clockOffset == 0)
        }
    }

    @Test func `the KDC answers who has read another cache before`() async throws {
        try await withTestRealm(Self.options) { realm in
            let (far, near) = (try await far(realm), try await near(realm))
            let client = realm.client
            _ = try await client.initiatorCredential(for: near.ticket, from: far.cache)
            let ticket = try await client.serviceTicket(for: realm.principal(Self.service), in: near.cache)
            _ = try await client.renewedCredential(for: near.principal, in: near.cache)
            let credential = try await client.initiatorCredential(for: ticket)
            #expect(try establish(credential, acceptor(realm)).server.initiator == "alice@EXAMPLE.TEST")
        }
    }

    /// What the client keeps for its next context is what it learned last, though that is 0.
    @Test func `an offset of nothing outlives an abandoned call`() async throws {
        try await withTestRealm(Self.options) { realm in
            let (far, near) = (try await far(realm), try await near(realm))
            let client = realm.client
            _ = try await client.initiatorCredential(for: near.ticket, from: far.cache)
            let ticket = try await client.serviceTicket(for: realm.principal(Self.service), in: near.cache)
            try await realm.pauseKDC()
            await expectFailure(.kdcUnreachable) {
                _ = try await realm.signIn(client: client, options: .init(deadline: .milliseconds(100)))
            }
            let credential = try await client.initiatorCredential(for: ticket)
            #expect(try establish(credential, acceptor(realm)).server.initiator == "alice@EXAMPLE.TEST")
        }
    }

    @Test func `a cache that is not there leaves the clock`() async throws {
        try await withTestRealm(Self.options) { realm in
            let user = try await realm.signIn()
            let ticket = try await user.serviceTicket(realm.principal(Self.service))
            await expectFailure(.noCredentials) { _ = try await user.client.serviceTicket(for: ticket.server, in: realm.newCache()) }
            let credential = try await user.client.initiatorCredential(for: ticket)
            await expectFailure(.clockSkew, comment: "at the KDC's time, so refused here") {
                _ = try establish(credential, acceptor(realm))
            }
        }
    }

    /// So that no program reads another cache's offset into it.
    @Test(arguments: [nil, 0, -7200.0]) func `our caches say it`(offset: Double?) async throws {
        try await withTestRealm(Self.options) { realm in
            _ = try await far(realm)
            let near = try await near(realm)
            let cache = realm.newCache()
            let client = realm.client
            try await client.replace(cache, principal: near.principal, credentials: [near.ticket], clockOffset: offset)
            let header = try Data(contentsOf: URL(filePath: cache.residual)).prefix(8)
            #expect(Array(header) == [5, 4, 0, 12, 0, 1, 0, 8])
            #expect(try await client.contents(of: cache).clockOffset == offset ?? 0)
        }
    }
}
