import Foundation
import HTTPNegotiate
import Kerberos
import KerberosEngine
import KerberosTesting
import KerberosTestingTraits
import SignOnPolicy
import TestSupport
import Testing

/// Requests while a KDC is stopped or drops packets.
struct KDCFaultTests {
    private static let options = TestRealmOptions(
        users: ["alice": "secret"],
        services: ["HTTP/known.example.test", "HTTP/new.example.test"]
    )

    @Test(.testRealm(options)) func `a cached ticket answers requests while the KDC is down`() async throws {
        let realm = try #require(TestRealm.current)
        let home = try CacheHome(realm)
        let kerberos = home.makeExtension()
        try await kerberos.signIn("alice", using: .secret)
        _ = try await kerberos.grant("known.example.test")
        try await realm.stopKDC()
        // In the process that has the ticket, after its session must be checked again, and in another process.
        home.clock.advance(by: 3)
        for kerberos in [kerberos, home.makeExtension()] {
            let grant = try await kerberos.grant("known.example.test")
            #expect(try Acceptance(grant.token, keytab: realm.keytabPath).client == "alice@EXAMPLE.TEST")
            let error = await authorizationError { try await kerberos.grant("new.example.test") }
            #expect(error?.code == .kdcUnreachable)
        }
        #expect(try await kerberos.sessions().defaultSession(realm: realm.name)?.services.count == 1)
        try await realm.startKDC()
        #expect(try await home.makeExtension().grant("new.example.test").principal == "alice@EXAMPLE.TEST")
    }

    /// A new process, as after a restart of the agent, has read no ticket yet when a request for a service without a ticket begins to wait.
    @Test(.testRealm(options)) func `a cached ticket does not wait behind a KDC that drops packets`() async throws {
        let realm = try #require(TestRealm.current)
        var home = try CacheHome(realm)
        let first = home.makeExtension()
        try await first.signIn("alice", using: .secret)
        _ = try await first.grant("known.example.test")
        try await realm.pauseKDC()
        let (sent, send) = AsyncStream.makeStream(of: Void.self)
        home.options.trace = { if $0.contains("Sending ") { send.yield() } }
        let kerberos = home.makeExtension()
        let stuck = Task { await authorizationError { try await kerberos.grant("new.example.test") } }
        for await _ in sent { break }
        let grant = try await kerberos.grant("known.example.test")
        #expect(try Acceptance(grant.token, keytab: realm.keytabPath).client == "alice@EXAMPLE.TEST")
        #expect(try await kerberos.sessions().defaultSession(realm: realm.name)?.services.count == 1)
        // The order of events shows this, not a clock: the other request still waits for the KDC.
        #expect(await kerberos.explanation(for: try #require(URL(string: "https://known.example.test/"))).isHandled)
        stuck.cancel()
        #expect(await stuck.value?.code == .canceled)
        try await realm.resumeKDC()
    }

    @Test(.testRealm(options)) func `a canceled request does not wait for a KDC that drops packets`() async throws {
        let realm = try #require(TestRealm.current)
        var home = try CacheHome(realm)
        try await home.makeExtension().signIn("alice", using: .secret)
        try await realm.pauseKDC()
        let (sent, send) = AsyncStream.makeStream(of: Void.self)
        home.options.trace = { if $0.hasPrefix("Sending") || $0.contains(" Sending ") { send.yield() } }
        let kerberos = home.makeExtension()
        let request = Task { await authorizationError { try await kerberos.grant("new.example.test") } }
        for await _ in sent { break }
        request.cancel()
        let start = ContinuousClock.now
        #expect(await request.value?.code == .canceled)
        #expect(ContinuousClock.now - start < .seconds(20))
        try await realm.resumeKDC()
    }

    /// An unusable FAST armor cache says nothing about the network.
    @Test(arguments: [nil, "FILE:/nonexistent/armor"])
    func `reachesKDC reports whether a KDC of the realm answers`(armor: String?) async throws {
        try await withTestRealm(Self.options) { realm in
            var home = try CacheHome(realm)
            home.options.armorCache = armor.map(CredentialCacheName.init(rawValue:))
            let kerberos = home.makeExtension()
            #expect(await kerberos.inspection.reachesKDC(of: realm.name, askingFor: "alice"))
            try await realm.stopKDC()
            #expect(await !kerberos.inspection.reachesKDC(of: realm.name, askingFor: "alice"))
        }
    }

    @Test func `a KDC that drops packets does not delay requests for another realm`() async throws {
        try await withTestRealm(.init(name: "A.TEST", users: ["alice": "secret"], services: ["HTTP/www.a.test"])) { dead in
            try await withTestRealm(.init(name: "B.TEST", users: ["bob": "secret"], services: ["HTTP/www.b.test"])) { alive in
                var home = try CacheHome(alive, cache: "DIR")
                home.options.base = .files([alive.configurationPath, dead.configurationPath])
                home.options.configurations = [
                    .init(realm: "A.TEST", hosts: [try HostRule("www.a.test")]),
                    .init(realm: "B.TEST", hosts: [try HostRule("www.b.test")]),
                ]
                let kerberos = home.makeExtension()
                try await kerberos.signIn("alice@A.TEST", using: .secret)
                try await kerberos.signIn("bob@B.TEST", using: .secret)
                try await dead.pauseKDC()
                let stuck = Task { [kerberos] in await authorizationError { try await kerberos.grant("www.a.test") } }
                #expect(try await kerberos.grant("www.b.test").principal == "bob@B.TEST")
                stuck.cancel()
                #expect(await stuck.value?.code == .canceled)
                try await dead.resumeKDC()
            }
        }
    }
}
