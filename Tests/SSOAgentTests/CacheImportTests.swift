import Foundation
import Kerberos
import KerberosEngine
import KerberosTesting
import SSOAgent
import TestSupport
import Testing

@Suite(.testRealm(users: ["alice": "secret", "bob": "secret"], services: ["HTTP/www.example.test"]))
struct CacheImportTests {
    /// Where tickets come from and where they go.
    private func homes(_ cache: String) throws -> (KeptHome, KeptHome) {
        let realm = try #require(TestRealm.current)
        return (try KeptHome(realm, cache: cache), try KeptHome(realm, cache: "DIR"))
    }

    private func importing(_ source: KeptHome, _ target: KeptHome) -> CacheImport {
        CacheImport(from: source.makeClient(), to: target.makeClient(), clock: { [clock = source.clock] in clock.now.wall })
    }

    @Test(arguments: ["FILE", "DIR"])
    func `tickets are copied once, and stay whose they are`(_ cache: String) async throws {
        let (source, target) = try homes(cache)
        try await source.run("kinit", ["-l", "1h", "-r", "2h", "alice"], input: "secret\n")
        try await source.run("kvno", ["HTTP/www.example.test"])
        #expect(try await importing(source, target).run().map(\.description) == ["alice@EXAMPLE.TEST"])
        #expect(try await importing(source, target).run() == [])
        let session = try #require(try await target.makeExtension().sessions().sessions.first)
        #expect(session.acquiredBy == .other && session.services.count == 1 && session.renewUntil != nil)
        #expect(try await target.run("klist", []).contains("HTTP/www.example.test"))
        #expect(try await source.run("klist", []).contains("HTTP/www.example.test"))
    }

    @Test func `what this project acquired stays its own`() async throws {
        let (source, target) = try homes("FILE")
        try await source.makeExtension().signIn("alice", using: .password(Secret("secret")))
        try await importing(source, target).run()
        #expect(try await target.makeExtension().sessions().sessions.map(\.acquiredBy) == [.password])
    }

    @Test(arguments: [-11 * 3600, 11 * 3600]) func `the clock of their KDC goes along`(offset: Int) async throws {
        let options = TestRealmOptions(users: ["alice": "secret"], services: ["HTTP/www.example.test"], clockOffset: .seconds(offset))
        try await withTestRealm(options) { realm in
            let (source, target) = (try KeptHome(realm), try KeptHome(realm, cache: "DIR"))
            try await source.run("kinit", ["alice"], input: "secret\n")
            #expect(try await importing(source, target).run().count == 1)
            #expect(try await target.makeExtension().sessions().sessions.map(\.isSignedIn) == [true])
            try await target.run("kvno", ["HTTP/www.example.test"])
        }
    }

    @Test func `each principal of a collection is copied, but for one who is there`() async throws {
        let (source, target) = try homes("DIR")
        for user in ["alice", "bob"] { try await source.run("kinit", [user], input: "secret\n") }
        try await target.run("kinit", ["alice"], input: "secret\n")
        #expect(try await importing(source, target).run().map(\.description) == ["bob@EXAMPLE.TEST"])
        let names = try await target.makeExtension().sessions().sessions.map(\.principal.description)
        #expect(names.sorted() == ["alice@EXAMPLE.TEST", "bob@EXAMPLE.TEST"])
        #expect(try await target.run("klist", []).contains("Default principal: alice@EXAMPLE.TEST"))
    }

    @Test func `nothing is copied of what is not there, has ended, or is no cache`() async throws {
        let (source, target) = try homes("FILE")
        #expect(try await importing(source, target).run() == [])
        try await source.run("kinit", ["alice"], input: "secret\n")
        source.clock.advance(by: 86_400)
        #expect(try await importing(source, target).run() == [])
        try Data("no cache".utf8).write(to: URL(filePath: "\(source.directory)/cache"))
        #expect(try await importing(source, target).run() == [])
    }
}
