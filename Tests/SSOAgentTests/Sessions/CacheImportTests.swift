import Foundation
import Kerberos
import KerberosEngine
import KerberosTesting
import KerberosTestingTraits
import SSOAgent
import TestSupport
import Testing

/// Which tickets the agent imports from another cache.
@Suite(.testRealm(users: ["alice": "secret", "bob": "secret"], services: ["HTTP/www.example.test"]))
struct CacheImportTests {
    /// The source and the target of an import.
    private func homes(_ cache: String) throws -> (KeptHome, KeptHome) {
        let realm = try #require(TestRealm.current)
        return (try KeptHome(realm, cache: cache), try KeptHome(realm, cache: "DIR"))
    }

    private func importing(_ source: KeptHome, _ target: KeptHome, isLogin: Bool = false) -> CacheImport {
        let clock = source.clock
        return CacheImport(from: source.makeClient(), to: target.makeClient(), isLogin: isLogin, clock: { clock.now.wall })
    }

    @Test(arguments: ["FILE", "DIR"])
    func `other programs' tickets are copied once and not marked as this project's`(_ cache: String) async throws {
        let (source, target) = try homes(cache)
        try await source.run("kinit", ["-l", "1h", "-r", "2h", "alice"], input: "secret\n")
        try await source.run("kvno", ["HTTP/www.example.test"])
        #expect(try await importing(source, target).run().copied.map(\.description) == ["alice@EXAMPLE.TEST"])
        #expect(try await importing(source, target).run().copied == [])
        let session = try #require(try await target.makeExtension().sessions().sessions.first)
        #expect(session.acquiredBy == .other && session.services.count == 1 && session.renewUntil != nil)
        #expect(try await target.run("klist", []).contains("HTTP/www.example.test"))
        #expect(try await source.run("klist", []).contains("HTTP/www.example.test"))
    }

    @Test func `an imported session of this project keeps how it was acquired`() async throws {
        let (source, target) = try homes("FILE")
        try await source.makeExtension().signIn("alice", using: .password(Secret("secret")))
        try await importing(source, target).run()
        #expect(try await target.makeExtension().sessions().sessions.map(\.acquiredBy) == [.password])
    }

    /// If this project's tickets stayed, the next agent would import them again after the user has signed out.
    @Test(arguments: [true, false]) func `this project's tickets are moved, other programs' tickets are copied`(isOwn: Bool) async throws {
        let (source, target) = try homes("FILE")
        if isOwn {
            try await source.makeExtension().signIn("alice", using: .password(Secret("secret")))
        } else {
            try await source.run("kinit", ["alice"], input: "secret\n")
        }
        let outcome = try await importing(source, target).run()
        #expect(outcome.copied.count == 1 && outcome.moved == (isOwn ? outcome.copied : []))
        #expect(try await source.makeExtension().sessions().sessions.isEmpty == isOwn)
    }

    /// The agent's session may be earlier or later than the one that this project has stored in the other cache.
    @Test(arguments: [true, false]) func `of two sign-ins by this project, only the later one stays`(isSourceLater: Bool) async throws {
        try await withTestRealm(TestRealmOptions(users: ["alice": "secret"], clockOffset: .seconds(-120))) { realm in
            let (source, target) = (try KeptHome(realm), try KeptHome(realm, cache: "DIR"))
            let (earlier, later) = isSourceLater ? (target, source) : (source, target)
            try await earlier.makeExtension().signIn("alice", using: .password(Secret("secret")))
            try await realm.stopKDC()
            try await realm.startKDC()
            let last = try await later.makeExtension().signIn("alice", using: .password(Secret("secret")))
            let outcome = try await importing(source, target).run()
            #expect(outcome.copied.count == (isSourceLater ? 1 : 0))
            #expect(outcome.moved.map(\.description) == ["alice@EXAMPLE.TEST"], "the source has no ticket any more")
            #expect(try await target.makeExtension().sessions().sessions.map(\.ticketExpires) == [last.ticketExpires])
            #expect(try await source.makeExtension().sessions().sessions.isEmpty)
        }
    }

    @Test func `another program's tickets in the agent's cache are not replaced`() async throws {
        try await withTestRealm(TestRealmOptions(users: ["alice": "secret"], clockOffset: .seconds(-120))) { realm in
            let (source, target) = (try KeptHome(realm), try KeptHome(realm, cache: "DIR"))
            try await target.run("kinit", ["alice"], input: "secret\n")
            try await realm.stopKDC()
            try await realm.startKDC()
            try await source.makeExtension().signIn("alice", using: .password(Secret("secret")))
            #expect(try await importing(source, target).run().copied == [])
            #expect(try await target.makeExtension().sessions().sessions.map(\.acquiredBy) == [.other])
            #expect(try await source.makeExtension().sessions().sessions.map(\.isSignedIn) == [true])
        }
    }

    @Test(arguments: [-11 * 3600, 11 * 3600]) func `imported tickets keep the clock offset of their KDC`(offset: Int) async throws {
        let options = TestRealmOptions(users: ["alice": "secret"], services: ["HTTP/www.example.test"], clockOffset: .seconds(offset))
        try await withTestRealm(options) { realm in
            let (source, target) = (try KeptHome(realm), try KeptHome(realm, cache: "DIR"))
            try await source.run("kinit", ["alice"], input: "secret\n")
            #expect(try await importing(source, target).run().copied.count == 1)
            #expect(try await target.makeExtension().sessions().sessions.map(\.isSignedIn) == [true])
            try await target.run("kvno", ["HTTP/www.example.test"])
        }
    }

    /// The machine's clock was 30 hours behind when the tickets were acquired.
    @Test func `tickets whose clock offset is out of date are imported without it`() async throws {
        try await withTestRealm(TestRealmOptions(users: ["alice": "secret"], services: ["HTTP/www.example.test"])) { realm in
            let (source, target) = (try KeptHome(realm), try KeptHome(realm, cache: "DIR"))
            let wrong = Duration.seconds(-30 * 3600)
            try await realm.kinit("alice", password: "secret", cache: source.cacheName, options: ["-l", "10h"], clockOffset: wrong)
            #expect(try await importing(source, target).run().copied.count == 1)
            #expect(try await target.makeExtension().sessions().sessions.map(\.isSignedIn) == [true])
            try await target.run("kvno", ["HTTP/www.example.test"])
        }
    }

    @Test func `a cache without a clock offset does not get the offset of another cache`() async throws {
        let service = "HTTP/www.example.test"
        let options = TestRealmOptions(users: ["alice": "secret", "bob": "secret"], services: [service], clockOffset: .seconds(-7200))
        try await withTestRealm(options) { realm in
            let (source, target) = (try KeptHome(realm, cache: "DIR"), try KeptHome(realm, cache: "DIR"))
            try await source.run("kinit", ["bob"], input: "secret\n")
            let folder = "\(source.directory)/collection"
            let bobs = Set(try FileManager.default.contentsOfDirectory(atPath: folder))
            try await realm.stopKDC()
            try await realm.startKDC()
            try await source.run("kinit", ["-l", "1h", "-r", "1d", "alice"], input: "secret\n")
            for name in try FileManager.default.contentsOfDirectory(atPath: folder) where !bobs.contains(name) {
                try dropHeaderTags(ofCacheAt: "\(folder)/\(name)")
            }
            // The primary cache is read first.
            try await source.run("kswitch", ["-p", "bob"])
            #expect(try await importing(source, target).run().copied.map(\.description) == ["bob@EXAMPLE.TEST", "alice@EXAMPLE.TEST"])

            try await target.run("kswitch", ["-p", "alice"])
            let kerberos = target.makeExtension()
            func alice() async throws -> Session {
                let sessions = try await kerberos.sessions().sessions
                return try #require(sessions.first { $0.principal.description == "alice@EXAMPLE.TEST" })
            }
            #expect(try await alice().clockOffset == 0)
            #expect(try await alice().isSignedIn)
            target.clock.advance(by: 3660)
            #expect(try await alice().isSignedIn == false)
            try await target.run("kvno", [service])
            try await target.run("kinit", ["-R"])
            try await target.run("kvno", [service])
        }
    }

    @Test func `each principal of a collection is imported, except one with a session in the agent`() async throws {
        let (source, target) = try homes("DIR")
        for user in ["alice", "bob"] { try await source.run("kinit", [user], input: "secret\n") }
        try await target.run("kinit", ["alice"], input: "secret\n")
        #expect(try await importing(source, target).run().copied.map(\.description) == ["bob@EXAMPLE.TEST"])
        let names = try await target.makeExtension().sessions().sessions.map(\.principal.description)
        #expect(names.sorted() == ["alice@EXAMPLE.TEST", "bob@EXAMPLE.TEST"])
        #expect(try await target.run("klist", []).contains("Default principal: alice@EXAMPLE.TEST"))
    }

    @Test func `nothing is imported from a missing, expired or invalid cache`() async throws {
        let (source, target) = try homes("FILE")
        #expect(try await importing(source, target).run().copied == [])
        try await source.run("kinit", ["alice"], input: "secret\n")
        source.clock.advance(by: 86_400)
        #expect(try await importing(source, target).run().copied == [])
        try Data("no cache".utf8).write(to: URL(filePath: "\(source.directory)/cache"))
        #expect(try await importing(source, target).run().copied == [])
    }

    @Test func `a login's tickets replace other programs' earlier tickets, and its cache stays`() async throws {
        let (source, target) = try homes("FILE")
        try await target.run("kinit", ["-l", "1h", "alice"], input: "secret\n")
        try await source.run("kinit", ["-l", "2h", "alice"], input: "secret\n")
        let login = importing(source, target, isLogin: true)
        #expect(try await login.run().copied.map(\.description) == ["alice@EXAMPLE.TEST"])
        let expected = try #require(try await source.makeExtension().sessions().sessions.first?.ticketExpires)
        #expect(try await target.makeExtension().sessions().sessions.map(\.ticketExpires) == [expected])
        #expect(try await login.run().copied == [], "the same ticket is not imported again")
        #expect(try await source.makeExtension().sessions().sessions.map(\.isSignedIn) == [true])
    }

    @Test func `a login's ticket replaces this project's if that expires earlier and is not renewable`() async throws {
        let (source, target) = try homes("FILE")
        let options = InitialCredentialOptions(lifetime: .seconds(600))
        try await target.makeExtension().signIn("alice", using: .password(Secret("secret")), options: options)
        try await source.run("kinit", ["-l", "2h", "alice"], input: "secret\n")
        #expect(try await importing(source, target, isLogin: true).run().copied.map(\.description) == ["alice@EXAMPLE.TEST"])
        let expected = try #require(try await source.makeExtension().sessions().sessions.first?.ticketExpires)
        #expect(try await target.makeExtension().sessions().sessions.map(\.ticketExpires) == [expected])
    }

    @Test func `an import after a login fails if there is nothing to copy, so its cache stays in use`() async throws {
        let (source, target) = try homes("FILE")
        let login = importing(source, target, isLogin: true)
        await #expect(throws: KerberosError.self, "no cache") { try await login.run() }
        try Data("no cache".utf8).write(to: URL(filePath: "\(source.directory)/cache"))
        await #expect(throws: KerberosError.self, "no tickets") { try await login.run() }
        try FileManager.default.removeItem(atPath: "\(source.directory)/cache")
        try await source.run("kinit", ["-S", "HTTP/www.example.test", "alice"], input: "secret\n")
        await #expect(throws: KerberosError.self, "only a service ticket") { try await login.run() }
    }

    @Test func `a login's tickets do not replace this project's tickets, and both caches stay`() async throws {
        let (source, target) = try homes("FILE")
        for home in [source, target] { try await home.makeExtension().signIn("alice", using: .password(Secret("secret"))) }
        let login = importing(source, target, isLogin: true)
        #expect(try await login.run().copied == [])
        for home in [source, target] { #expect(try await home.makeExtension().sessions().sessions.map(\.isSignedIn) == [true]) }
    }
}
