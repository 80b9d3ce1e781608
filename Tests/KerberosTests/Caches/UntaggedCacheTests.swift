import Foundation
import Kerberos
import KerberosTesting
import TestSupport
import Testing

/// Caches without their KDC's clock offset, read by a client that has read a cache with one.
@Suite struct UntaggedCacheTests {
    private static let service = "HTTP/www.example.test"
    private static let options = TestRealmOptions(users: ["alice": "secret"], services: [service], clockOffset: .seconds(-7200))

    /// Returns a cache from a KDC two hours behind, and restarts the KDC with this machine's clock.
    private func far(_ realm: TestRealm) async throws -> SignedIn {
        let user = try await realm.signIn()
        try await realm.stopKDC()
        try await realm.startKDC()
        return user
    }

    /// Returns a cache without the tag.
    private func near(_ realm: TestRealm) async throws -> SignedIn {
        let user = try await realm.signIn(options: .init(renewableLifetime: .seconds(86_400)))
        try dropHeaderTags(ofCacheAt: user.cache.residual)
        return user
    }

    private func acceptor(_ realm: TestRealm) throws -> AcceptorCredential {
        try AcceptorCredential(keytab: realm.keytabPath, replayCache: .disabled)
    }

    @Test func `the clock offset of another cache is not used`() async throws {
        try await withTestRealm(Self.options) { realm in
            let (far, near) = (try await far(realm), try await near(realm))
            let client = realm.client
            for _ in 0..<2 {
                #expect(try await client.contents(of: far.cache).clockOffset < -7000)
                #expect(try await client.contents(of: near.cache).clockOffset == 0)
            }
            // A credential created from the cache leaves its offset in the context.
            _ = try await client.initiatorCredential(for: near.ticket, from: far.cache)
            #expect(try await client.contents(of: near.cache).clockOffset == 0)
        }
    }

    @Test func `a client that has read another cache's clock offset still gets tickets`() async throws {
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

    /// The client keeps the last offset for its next context, even if it is 0.
    @Test func `a clock offset of zero survives an abandoned call`() async throws {
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

    @Test func `a missing cache does not change the clock offset`() async throws {
        try await withTestRealm(Self.options) { realm in
            let user = try await realm.signIn()
            let ticket = try await user.serviceTicket(realm.principal(Self.service))
            await expectFailure(.noCredentials) { _ = try await user.client.serviceTicket(for: ticket.server, in: realm.newCache()) }
            let credential = try await user.client.initiatorCredential(for: ticket)
            await expectFailure(.clockSkew, comment: "the token has the KDC's time") {
                _ = try establish(credential, acceptor(realm))
            }
        }
    }

    /// Otherwise a program could apply another cache's offset to it.
    @Test(arguments: [nil, 0, -7200.0]) func `a replaced cache always contains a clock offset`(offset: Double?) async throws {
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
