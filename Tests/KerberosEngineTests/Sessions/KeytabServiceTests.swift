import Foundation
import HTTPNegotiate
import Kerberos
import KerberosEngine
import KerberosTesting
import KerberosTestingTraits
import SignOnPolicy
import TestSupport
import Testing

/// A service that signs in with a keytab, without an agent and without prompts.
struct KeytabServiceTests {
    private static let services = ["HTTP/www.example.test", "HTTP/other.example.test", "app"]
    private let host = "www.example.test"

    private func makeHome(user: String? = nil) async throws -> CacheHome {
        let realm = try #require(TestRealm.current)
        var home = try CacheHome(realm)
        let keytab = if let user { try await realm.keytab(for: user) } else { realm.keytabPath }
        home.options.credential = .keytab(.keytab(keytab), principal: user ?? "app")
        return home
    }

    @Test(.testRealm(.init(services: services, ticketLifetime: .seconds(3))), .timeLimit(.minutes(5)))
    func `a service gets valid tokens through three ticket lifetimes`() async throws {
        let home = try await makeHome()
        let service = home.makeExtension()
        var expiries: Set<Date> = []
        let start = ContinuousClock.now
        while expiries.count < 4 {
            let grant = try await service.grant(host)
            #expect(try Acceptance(grant.token, keytab: home.realm.keytabPath).client == "app@EXAMPLE.TEST")
            let session = try #require(try await service.sessions().sessions.first)
            expiries.insert(session.ticketExpires)
            try await Task.sleep(for: .milliseconds(5))
        }
        // The service signs in when two thirds of a lifetime have passed, not with every request.
        let signIns = try home.realm.issued(.initialTicket, client: "app")
        #expect(signIns >= 4)
        #expect(signIns <= Int((ContinuousClock.now - start) / .seconds(2)) + 2)
    }

    @Test(.testRealm(.init(services: services))) func `a service reacquires its ticket after two thirds of the lifetime`() async throws {
        let home = try await makeHome()
        let service = home.makeExtension()
        _ = try await service.grant(host)
        home.clock.advance(by: 6 * 3600)
        _ = try await service.grant(host)
        #expect(try home.realm.issued(.initialTicket, client: "app") == 1)
        home.clock.advance(by: 3600)
        _ = try await service.grant(host)
        #expect(try await comesTrue { try home.realm.issued(.initialTicket, client: "app") == 2 })
    }

    @Test(.testRealm(.init(services: services))) func `a service uses its valid tickets while the KDC is down`() async throws {
        let home = try await makeHome()
        let service = home.makeExtension()
        _ = try await service.grant(host)
        home.clock.advance(by: 7 * 3600)
        try await home.realm.stopKDC()
        for _ in 0..<3 {
            let grant = try await service.grant(host)
            #expect(try Acceptance(grant.token, keytab: home.realm.keytabPath).client == "app@EXAMPLE.TEST")
            home.clock.advance(by: 60)
        }
        #expect(await authorizationError { try await service.grant("other.example.test") }?.code == .kdcUnreachable)
        try await home.realm.startKDC()
        home.clock.advance(by: 60)
        _ = try await service.grant(host)
        #expect(try await comesTrue { try home.realm.issued(.initialTicket, client: "app") == 2 })
    }

    /// A KDC that drops packets costs 27 seconds; no request waits for it while the old ticket is valid.
    @Test(.testRealm(.init(services: services))) func `a due reacquisition does not delay requests`() async throws {
        let home = try await makeHome()
        let service = home.makeExtension()
        _ = try await service.grant(host)
        home.clock.advance(by: 7 * 3600)
        try await home.realm.pauseKDC()
        for _ in 0..<2 {
            let start = ContinuousClock.now
            let grant = try await service.grant(host)
            #expect(ContinuousClock.now - start < .seconds(20))
            #expect(try Acceptance(grant.token, keytab: home.realm.keytabPath).client == "app@EXAMPLE.TEST")
            home.clock.advance(by: 60)
        }
        #expect(try home.realm.issued(.initialTicket, client: "app") == 1)
        try await home.realm.resumeKDC()
        #expect(try await comesTrue { try home.realm.issued(.initialTicket, client: "app") == 2 })
    }

    /// The KDC stops right after the service has signed in again: the earlier service tickets are still valid.
    @Test(.testRealm(.init(services: services))) func `a service ticket stays valid after a new sign-in`() async throws {
        let home = try await makeHome()
        let service = home.makeExtension()
        for name in [host, "other.example.test"] { _ = try await service.grant(name) }
        home.clock.advance(by: 7 * 3600)
        _ = try await service.grant(host)
        try await home.realm.stopKDC()
        #expect(try await service.grant("other.example.test").principal == "app@EXAMPLE.TEST")
        home.clock.advance(by: 4 * 3600)  // now they have expired
        #expect(await authorizationError { try await service.grant("other.example.test") }?.code == .kdcUnreachable)
    }

    @Test(.testRealm(users: ["robot": "secret"], services: services)) func `a service does not send a rejected key again for five minutes`()
        async throws
    {
        let home = try await makeHome(user: "robot")
        _ = try await home.realm.kadmin(["change_password", "-pw", "another", "robot"])
        let service = home.makeExtension()
        for name in [host, host, "other.example.test", host] {
            let error = await authorizationError { try await service.grant(name) }
            #expect((error?.cause as? KerberosError)?.code == .wrongPassword)
            #expect(error?.message.contains("keytab") == true)
            home.clock.advance(by: 30)
        }
        #expect(try await home.realm.failedAttempts(of: "robot") == 1)
        home.clock.advance(by: 300)
        _ = await authorizationError { try await service.grant(host) }
        #expect(try await home.realm.failedAttempts(of: "robot") == 2)
    }

    @Test(.testRealm(.init(services: services)), arguments: ["", "FILE:", "garbage"])
    func `an unusable keytab is an error until it is replaced`(content: String) async throws {
        let realm = try #require(TestRealm.current)
        var home = try CacheHome(realm)
        let path = "\(home.directory)/service.keytab"
        if !content.isEmpty { try content.write(toFile: path, atomically: true, encoding: .utf8) }
        home.options.credential = .keytab(.keytab(path), principal: "app")
        let service = home.makeExtension()
        let error = await authorizationError { try await service.grant(host) }
        #expect(error?.code == .failed)
        #expect((error?.cause as? KerberosError)?.code == .keytabUnusable)
        // The service works as soon as the keytab is fixed.
        try FileManager.default.removeItemIfThere(path)
        try FileManager.default.copyItem(atPath: realm.keytabPath, toPath: path)
        #expect(try await service.grant(host).principal == "app@EXAMPLE.TEST")
    }

    @Test(.testRealm(.init(services: services))) func `a service without a configured principal uses the keytab's first one`() async throws
    {
        var home = try await makeHome()
        home.options.credential = .keytab(.keytab(try await home.realm.keytab(for: "app")), principal: nil)
        #expect(try await home.makeExtension().grant(host).principal == "app@EXAMPLE.TEST")
        home.options.credential = .keytab(.keytab(home.realm.keytabPath), principal: "stranger@EXAMPLE.TEST")
        let error = await authorizationError { try await home.makeExtension().grant(host) }
        #expect([.keytabEntryMissing, .unknownPrincipal].contains((error?.cause as? KerberosError)?.code))
    }
}

extension FileManager {
    fileprivate func removeItemIfThere(_ path: String) throws {
        if fileExists(atPath: path) { try removeItem(atPath: path) }
    }
}
