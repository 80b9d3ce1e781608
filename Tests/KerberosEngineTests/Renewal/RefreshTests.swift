import Foundation
import HTTPNegotiate
import Kerberos
import KerberosEngine
import KerberosTesting
import KerberosTestingTraits
import SignOnPolicy
import TestSupport
import Testing

/// Renewing or reacquiring a session, and the sessions that need a new sign-in.
@Suite(.testRealm(users: ["alice": "secret", "bob": "secret"], services: ["HTTP/www.example.test", "app"]))
struct RefreshTests {
    private let host = "www.example.test"

    private func makeHome() throws -> CacheHome { try CacheHome(try #require(TestRealm.current)) }

    @Test func `a renewal keeps service tickets and marks`() async throws {
        let home = try makeHome()
        let kerberos = home.makeExtension()
        let options = InitialCredentialOptions(lifetime: .seconds(3600), renewableLifetime: .seconds(7200))
        try await kerberos.signIn("alice", using: .secret, options: options)
        _ = try await kerberos.grant(host)
        let before = try #require(try await kerberos.sessions().defaultSession(realm: home.realm.name))
        let after = try await kerberos.refresh(before)
        #expect(after.isSignedIn && after.isDefault)
        #expect(after.ticketExpires >= before.ticketExpires)
        #expect(after.cache == before.cache)
        #expect(after.acquiredBy == .password)
        #expect(after.services == before.services && after.services.count == 1)
        #expect(
            try home.realm.log().contains("TGS_REQ")
                && home.realm.issued(.serviceTicket, client: "alice", server: "krbtgt/EXAMPLE.TEST") == 1
        )
        #expect(try await kerberos.grant(host).principal == "alice@EXAMPLE.TEST")
    }

    @Test func `a ticket that is not renewable requires a new sign-in`() async throws {
        let kerberos = try makeHome().makeExtension()
        // The KDC issues a renewable ticket without a request for one if it cannot grant the requested lifetime.
        let session = try await kerberos.signIn("bob", using: .secret, options: .init(lifetime: .seconds(3600)))
        #expect(session.renewUntil == nil)
        let error = await kerberosError { try await kerberos.refresh(session) }
        #expect(error?.code == .notInteractive)
        #expect(error?.message.contains("ksso login --force bob@EXAMPLE.TEST") == true)
        #expect(try await kerberos.grant(host).principal == "bob@EXAMPLE.TEST")
    }

    @Test func `an expired session is signed out and cannot be refreshed`() async throws {
        let home = try makeHome()
        let kerberos = home.makeExtension()
        try await kerberos.signIn("bob", using: .secret)
        home.clock.advance(by: 11 * 3600)
        let session = try #require(try await kerberos.sessions().sessions.first)
        #expect(!session.isSignedIn)
        #expect(await kerberosError { try await kerberos.refresh(session) }?.code == .noCredentials)
    }

    @Test func `a refresh reacquires a keytab session`() async throws {
        let home = try makeHome()
        let kerberos = home.makeExtension()
        let keytab = try await home.realm.keytab(for: "app")
        let session = try await kerberos.signIn(using: .keytab(keytab))
        #expect(session.principal.description == "app@EXAMPLE.TEST")
        #expect(session.acquiredBy == .keytab(keytab))
        _ = try await kerberos.grant(host)
        let requests = try home.realm.issued(.initialTicket, client: "app")
        let after = try await kerberos.refresh(session)
        #expect(try home.realm.issued(.initialTicket, client: "app") == requests + 1)
        #expect(after.services.count == 1 && after.acquiredBy == session.acquiredBy)
    }

    @Test func `a refresh reacquires a service's own session`() async throws {
        var home = try makeHome()
        try await home.realm.addService("refreshing")
        home.options.credential = .keytab(.keytab(home.realm.keytabPath), principal: "refreshing")
        let service = home.makeExtension()
        _ = try await service.grant(host)
        let session = try #require(try await service.sessions().sessions.first)
        #expect(session.acquiredBy == .keytab(home.realm.keytabPath))
        #expect(try await service.refresh(session).isSignedIn)
        #expect(try home.realm.issued(.initialTicket, client: "refreshing") == 2)
        #expect(try await service.grant(host).principal == "refreshing@EXAMPLE.TEST")
    }
}

/// Changes that other programs make to the cache during a refresh.
@Suite struct RefreshInFlightTests {
    enum Meanwhile: CaseIterable { case signsInAgain, signsOut, doesNothing }

    @Test(arguments: Meanwhile.allCases, [false, true])
    func `a refresh does not undo another program's sign-in or sign-out`(meanwhile: Meanwhile, hasKeytab: Bool) async throws {
        try await withTestRealm(users: ["alice": "secret"]) { realm in
            var home = try CacheHome(realm)
            let (lines, continuation) = AsyncStream.makeStream(of: String.self)
            home.options.trace = { continuation.yield($0) }
            let source: InitialCredentialSource = hasKeytab ? .keytab(try await realm.keytab(for: "alice")) : .secret
            let options = InitialCredentialOptions(renewableLifetime: .seconds(86_400))
            let kerberos = home.makeExtension()
            let session = try await kerberos.signIn("alice", using: source, options: options)
            let other = home.makeExtension()
            let path = home.defaultCache.residual
            let before = try Data(contentsOf: URL(filePath: path))
            let newer = CredentialCacheName(rawValue: "FILE:\(home.directory)/newer")
            try await other.signIn("alice", using: .secret, cache: newer)
            let content = try Data(contentsOf: URL(filePath: newer.residual))

            // Skip the trace of earlier requests.
            continuation.yield("begin")
            for await line in lines where line == "begin" { break }
            try await realm.pauseKDC()
            let refresh = Task { try await kerberos.refresh(session) }
            for await line in lines where line.contains("Sending TCP request") || line.contains("Sending initial UDP") { break }
            switch meanwhile {
            case .signsInAgain: _ = try await realm.run("mv", [newer.residual, path])
            case .signsOut: _ = try await home.run("kdestroy", [])
            case .doesNothing: break
            }
            try await realm.resumeKDC()

            let error = await kerberosError { try await refresh.value }
            #expect(error?.code == (meanwhile == .signsOut ? .noCredentials : nil))
            let after = try? Data(contentsOf: URL(filePath: path))
            switch meanwhile {
            case .signsInAgain: #expect(after == content)
            case .signsOut: #expect(after == nil)
            case .doesNothing: #expect(after != nil && after != before)
            }
        }
    }
}
