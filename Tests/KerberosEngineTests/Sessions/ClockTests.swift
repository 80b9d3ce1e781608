import Foundation
import HTTPNegotiate
import Kerberos
import KerberosEngine
import KerberosTesting
import TestSupport
import Testing

/// Tokens and sessions use the KDC's time if its clock differs from this machine's, even when a ticket comes from a cache.
struct ClockTests {
    private let host = "www.example.test"

    private func options(_ offset: Int) -> TestRealmOptions {
        TestRealmOptions(users: ["alice": "secret"], services: ["HTTP/\(host)"], clockOffset: .seconds(offset))
    }

    /// The token of the process that signed in, and that of another one, which finds the service ticket in the cache.
    private func tokens(_ realm: TestRealm) async throws -> [[UInt8]] {
        let home = try CacheHome(realm)
        let kerberos = home.makeExtension()
        try await kerberos.signIn("alice", using: .secret)
        let first = try await kerberos.grant(host).token
        let second = try await home.makeExtension().grant(host).token
        #expect(try realm.issued(.serviceTicket, client: "alice", server: "HTTP/\(host)") == 1)
        return [first, second]
    }

    @Test(arguments: [-3600, 3600])
    func `a token from a cached ticket carries the KDC's time`(offset: Int) async throws {
        try await withTestRealm(options(offset)) { realm in
            for token in try await tokens(realm) {
                // The acceptor uses this machine's clock, so the skew shows that the client used the KDC's.
                #expect(await kerberosError { try Acceptance(token, keytab: realm.keytabPath) }?.code == .clockSkew)
            }
        }
    }

    /// A sign-in with a prompt uses a separate Kerberos client, which alone receives the KDC's time.
    @Test(arguments: [-3600, 3600])
    func `a sign-in with a prompt stores the KDC's clock offset`(offset: Int) async throws {
        try await withTestRealm(options(offset)) { realm in
            let home = try CacheHome(realm)
            let session = try await home.makeExtension().signIn("alice", using: .prompter(CountingPrompter(answer: "secret")))
            #expect(abs(session.clockOffset - Double(offset)) < 60)
            // kvno finds the offset in the cache.
            _ = try await home.run("kvno", ["HTTP/\(host)"])
        }
    }

    /// The KDC's clock is corrected while a process runs, and the user signs in again with kinit: the process uses the new cache's offset.
    @Test(arguments: [-3600, 3600])
    func `a clock offset that no longer exists is dropped`(offset: Int) async throws {
        var options = options(offset)
        options.services += ["HTTP/two.example.test", "HTTP/three.example.test"]
        try await withTestRealm(options) { realm in
            let home = try CacheHome(realm)
            let kerberos = home.makeExtension()
            try await home.kinit("alice")
            _ = try await kerberos.grant(host)
            try await realm.stopKDC()
            try await realm.startKDC()  // without the offset
            try await home.kinit("alice")
            _ = try await home.run("kvno", ["HTTP/two.example.test"])
            home.clock.advance(by: 10)
            for host in ["three.example.test", "two.example.test"] {
                let grant = try await kerberos.grant(host)
                #expect(try Acceptance(grant.token, keytab: realm.keytabPath).client == "alice@EXAMPLE.TEST")
            }
        }
    }

    /// The offset exceeds a ticket's lifetime: by this machine's clock a new ticket is already expired, or never due for renewal.
    @Test(arguments: [-11 * 3600, 11 * 3600], ["FILE", "DIR"])
    func `the KDC's time decides whether a session is signed in`(offset: Int, cache: String) async throws {
        try await withTestRealm(options(offset)) { realm in
            let home = try CacheHome(realm, cache: cache)
            try await home.kinit("alice", ["-r", "2d"])
            let kerberos = home.makeExtension()
            let session = try #require(try await kerberos.sessions().sessions.first)
            #expect(session.isSignedIn && session.clockOffset.rounded(.toNearestOrAwayFromZero) != 0)
            if offset > 0 {
                for _ in 0..<2 { #expect(try await kerberos.grant(host).principal == "alice@EXAMPLE.TEST") }
            } else {
                // GSSAPI uses this machine's clock.
                let error = await authorizationError { try await kerberos.grant(host) }
                #expect((error?.cause as? KerberosError)?.message.contains("Set the clock") == true, "\(String(describing: error))")
            }
            #expect(try realm.issued(.serviceTicket, server: "HTTP/\(host)") == 1)
            let renewed = try await kerberos.refresh(session)
            #expect(renewed.isSignedIn && renewed.services.count == 1)
            home.clock.advance(by: 10 * 3600 + 60)
            #expect(try await kerberos.sessions().sessions.map(\.isSignedIn) == [false])
        }
    }

    @Test(arguments: [-11 * 3600, 11 * 3600], [false, true])
    func `a keytab's ticket is reacquired when it is due by the KDC's time`(offset: Int, isServices: Bool) async throws {
        var options = options(offset)
        options.services.append("app")
        try await withTestRealm(options) { realm in
            var home = try CacheHome(realm)
            if isServices { home.options.credential = .keytab(.keytab(realm.keytabPath), principal: "app") }
            let kerberos = home.makeExtension()
            if !isServices { try await kerberos.signIn("app", using: .keytab(realm.keytabPath)) }
            for _ in 0..<3 {
                _ = try? await kerberos.grant(host)  // fails if the KDC is behind: see the test above
                home.clock.advance(by: 60)
            }
            #expect(try await kerberos.sessions().sessions.map(\.isSignedIn) == [true])
            #expect(try realm.issued(.initialTicket, client: "app") == 1)
            home.clock.advance(by: 7 * 3600)
            _ = try? await kerberos.grant(host)
            #expect(try await comesTrue { try realm.issued(.initialTicket, client: "app") == 2 })
        }
    }

    enum Tickets: String, CaseIterable, Sendable {
        case file = "FILE"
        case collection = "DIR"
        case keytab
    }

    /// Simulates a machine whose clock was an hour ahead and is corrected: the KDC's clock is moved forward instead, so that both agree
    /// from then on.
    @Test(arguments: Tickets.allCases, [true, false])
    func `tokens are valid as soon as the machine's clock is corrected`(tickets: Tickets, answersKDC: Bool) async throws {
        var options = options(-3600)
        options.services.append("app")
        try await withTestRealm(options) { realm in
            var home = try CacheHome(realm, cache: tickets == .collection ? "DIR" : "FILE")
            let steady = ManualClock()
            home.options.clock = { Date() }
            home.options.uptime = { steady.now.timeIntervalSince1970 }
            if tickets == .keytab { home.options.credential = .keytab(.keytab(realm.keytabPath), principal: "app") }
            let kerberos = home.makeExtension()
            if tickets != .keytab {
                try await kerberos.signIn("alice", using: .secret, options: InitialCredentialOptions(renewableLifetime: .seconds(172_800)))
            }
            let before = try await kerberos.grant(host)
            #expect(await kerberosError { try Acceptance(before.token, keytab: realm.keytabPath) }?.code == .clockSkew)
            try await realm.stopKDC()
            if answersKDC { try await realm.startKDC() }
            steady.advance(by: 3600)  // the wall clock now shows an hour less than it would
            #expect(await kerberos.readyGrant(for: AuthorizationRequest(url: try #require(URL(string: "https://\(host)/")))) == nil)
            for _ in 1...2 {
                let grant = try await kerberos.grant(host)
                let client = tickets == .keytab ? "app@EXAMPLE.TEST" : "alice@EXAMPLE.TEST"
                #expect(try Acceptance(grant.token, keytab: realm.keytabPath).client == client)
            }
            let session = try #require(try await kerberos.sessions().sessions.first)
            #expect(session.isSignedIn && abs(session.clockOffset) < 60)
            guard answersKDC else { return }
            // The ticket itself is reacquired in the background, because its times are those of the wrong clock.
            if tickets == .keytab {
                #expect(try await comesTrue { try realm.issued(.initialTicket, client: "app") == 2 })
            } else {
                #expect(try await comesTrue { try realm.issued(.serviceTicket, client: "alice", server: "krbtgt/EXAMPLE.TEST") == 1 })
            }
        }
    }

    /// The tickets are older than the correction of the machine's clock; the process started after it.
    @Test(arguments: ["FILE", "DIR"], [-3600, 3600])
    func `an outdated clock offset in the cache is corrected`(type: String, offset: Int) async throws {
        let options = TestRealmOptions(users: ["alice": "secret"], services: ["HTTP/\(host)"])
        try await withTestRealm(options) { realm in
            let home = try CacheHome(realm, cache: type)
            let cache = try #require(home.options.defaultCacheName)
            let wrong = Duration.seconds(offset)
            for renews in [false, true] {
                try await realm.kinit("alice", password: "secret", cache: cache, options: ["-r", "2d"], clockOffset: wrong)
                let kerberos = home.makeExtension()
                let session = try #require(try await kerberos.sessions().sessions.first)
                #expect(abs(session.clockOffset + Double(offset)) < 60)
                if renews {
                    try await kerberos.refresh(session)
                } else {
                    let grant = try await kerberos.grant(host)
                    #expect(try Acceptance(grant.token, keytab: realm.keytabPath).client == "alice@EXAMPLE.TEST")
                }
                #expect(try await kerberos.sessions().sessions.map { abs($0.clockOffset) < 60 } == [true])
            }
        }
    }

    /// The machine's clock was 30 hours behind when the tickets were acquired, and was corrected before this process started.
    @Test(arguments: [false, true])
    func `a clock offset by which a valid ticket has expired is dropped`(renews: Bool) async throws {
        let options = TestRealmOptions(users: ["alice": "secret"], services: ["HTTP/\(host)", "HTTP/two.example.test"])
        try await withTestRealm(options) { realm in
            let home = try CacheHome(realm)
            let wrong = Duration.seconds(-30 * 3600)
            let lifetime = ["-l", "10h", "-r", "7d"]
            try await realm.kinit("alice", password: "secret", cache: home.defaultCache.rawValue, options: lifetime, clockOffset: wrong)
            let kerberos = home.makeExtension()
            let session = try #require(try await kerberos.sessions().sessions.first)
            #expect(session.isSignedIn && session.clockOffset == 0)
            #expect(abs(session.ticketExpires.timeIntervalSinceNow - 36_000) < 60)
            if renews {
                #expect(try await kerberos.refresh(session).isSignedIn)
            } else {
                #expect(try Acceptance(try await kerberos.grant(host).token, keytab: realm.keytabPath).client == "alice@EXAMPLE.TEST")
            }
            // kvno uses the offset in the cache.
            _ = try await home.run("kvno", ["HTTP/two.example.test"])
        }
    }

    @Test(arguments: [-120, 120])
    func `a clock offset within the allowed skew has no effect`(offset: Int) async throws {
        try await withTestRealm(options(offset)) { realm in
            for token in try await tokens(realm) {
                #expect(try Acceptance(token, keytab: realm.keytabPath).client == "alice@EXAMPLE.TEST")
            }
        }
    }
}
