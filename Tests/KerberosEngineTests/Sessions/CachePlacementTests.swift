import Foundation
import HTTPNegotiate
import Kerberos
import KerberosEngine
import KerberosTesting
import KerberosTestingTraits
import SignOnPolicy
import TestSupport
import Testing

/// Which credential cache a sign-in fills.
@Suite(.testRealm(users: ["alice": "secret", "bob": "secret"], services: ["HTTP/www.example.test"]))
struct CachePlacementTests {
    private func makeHome(cache: String = "FILE") throws -> CacheHome { try CacheHome(try #require(TestRealm.current), cache: cache) }

    @Test func `the first session is in the default cache, where klist finds it`() async throws {
        let home = try makeHome()
        let session = try await home.makeExtension().signIn("alice", using: .secret)
        #expect(session.cache == home.defaultCache)
        #expect(session.isDefault && session.isSignedIn)
        #expect(session.acquiredBy == .password)
        #expect(try await home.run("klist", []).output.contains("Default principal: alice@EXAMPLE.TEST"))
    }

    @Test func `a second principal gets its own cache and the first one stays unchanged`() async throws {
        let home = try makeHome()
        let kerberos = home.makeExtension()
        try await kerberos.signIn("alice", using: .secret)
        _ = try await kerberos.grant("www.example.test")
        let before = try Data(contentsOf: URL(filePath: home.defaultCache.residual))
        let second = try await kerberos.signIn("bob", using: .secret)
        #expect(second.cache.path?.hasPrefix("\(home.directory)/caches/tkt") == true)
        #expect(try Data(contentsOf: URL(filePath: home.defaultCache.residual)) == before)
        let mode = try FileManager.default.attributesOfItem(atPath: "\(home.directory)/caches")[.posixPermissions] as? NSNumber
        #expect(mode == 0o700)
        // A repeated sign-in reuses the principal's cache.
        #expect(try await kerberos.signIn("alice", using: .secret).cache == home.defaultCache)
        #expect(try await kerberos.signIn("bob", using: .secret).cache == second.cache)
    }

    @Test(arguments: [0o777, 0o750, 0o701])
    func `a cache directory that other users can access is not used`(mode: Int) async throws {
        let home = try makeHome()
        let kerberos = home.makeExtension()
        try await kerberos.signIn("alice", using: .secret)
        try FileManager.default.createDirectory(
            atPath: "\(home.directory)/caches",
            withIntermediateDirectories: false,
            attributes: [.posixPermissions: mode]
        )
        let error = await kerberosError { try await kerberos.signIn("bob", using: .secret) }
        #expect(error?.code == .cacheUnusable)
        #expect(error?.message.contains("alice@EXAMPLE.TEST") == true)
        #expect(try await kerberos.sessions().sessions.map(\.principal.description) == ["alice@EXAMPLE.TEST"])
        #expect(try FileManager.default.contentsOfDirectory(atPath: "\(home.directory)/caches").isEmpty)
    }

    @Test func `a cache directory that other users can replace is not used`() async throws {
        var home = try makeHome()
        let parent = "\(home.directory)/open"
        home.options.additionalCacheDirectory = "\(parent)/caches"
        try FileManager.default.createDirectory(
            atPath: parent,
            withIntermediateDirectories: false,
            attributes: [.posixPermissions: 0o777]
        )
        let kerberos = home.makeExtension()
        try await kerberos.signIn("alice", using: .secret)
        #expect(await kerberosError { try await kerberos.signIn("bob", using: .secret) }?.code == .cacheUnusable)
    }

    @Test func `a cache directory that is a symbolic link is not used`() async throws {
        let home = try makeHome()
        let kerberos = home.makeExtension()
        try await kerberos.signIn("alice", using: .secret)
        let target = "\(home.directory)/elsewhere"
        try FileManager.default.createDirectory(atPath: target, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
        try FileManager.default.createSymbolicLink(atPath: "\(home.directory)/caches", withDestinationPath: target)
        #expect(await kerberosError { try await kerberos.signIn("bob", using: .secret) }?.code == .cacheUnusable)
        #expect(try FileManager.default.contentsOfDirectory(atPath: target).isEmpty)
    }

    @Test func `two principals have their caches in one DIR collection`() async throws {
        let home = try makeHome(cache: "DIR")
        try FileManager.default.createDirectory(atPath: "\(home.directory)/collection", withIntermediateDirectories: false)
        let kerberos = home.makeExtension()
        let first = try await kerberos.signIn("alice", using: .secret)
        #expect(first.isDefault)
        let second = try await kerberos.signIn("bob", using: .secret)
        #expect(first.cache != second.cache)
        #expect([first, second].allSatisfy { $0.cache.path?.hasPrefix("\(home.directory)/collection/tkt") == true })
        let list = try await home.run("klist", ["-l"]).output
        #expect(list.contains("alice@EXAMPLE.TEST") && list.contains("bob@EXAMPLE.TEST"))
        #expect(!FileManager.default.fileExists(atPath: "\(home.directory)/caches"))
    }

    @Test func `a sign-in can fill an explicitly named cache`() async throws {
        let home = try makeHome()
        let kerberos = home.makeExtension()
        let cache = CredentialCacheName(rawValue: "FILE:\(home.directory)/named")
        #expect(try await kerberos.signIn("alice", using: .secret, cache: cache).cache == cache)
        #expect(try await kerberos.sessions().sessions.isEmpty)
        #expect(!FileManager.default.fileExists(atPath: home.defaultCache.residual))
    }

    @Test(arguments: [Array("this is no credential cache".utf8), [5, 4, 0, 12, 0], [5, 9]] as [[UInt8]])
    func `a damaged cache file is reported and not overwritten`(content: [UInt8]) async throws {
        let home = try makeHome()
        try Data(content).write(to: URL(filePath: home.defaultCache.residual))
        let kerberos = home.makeExtension()
        let list = try await kerberos.sessions()
        #expect(list.sessions.isEmpty)
        #expect(list.damagedCaches.map(\.code) == [.cacheCorrupt])
        #expect(await kerberosError { try await kerberos.signIn("alice", using: .secret) }?.code == .cacheCorrupt)
        let error = await authorizationError { try await kerberos.grant("www.example.test") }
        #expect((error?.cause as? KerberosError)?.code == .cacheCorrupt)
        #expect(try Data(contentsOf: URL(filePath: home.defaultCache.residual)) == Data(content))
    }

    @Test func `a damaged cache in a collection does not affect the other caches`() async throws {
        let home = try makeHome(cache: "DIR")
        let damaged = URL(filePath: "\(home.directory)/collection/tkt")
        try FileManager.default.createDirectory(atPath: "\(home.directory)/collection", withIntermediateDirectories: false)
        try Data("damaged".utf8).write(to: damaged)
        let kerberos = home.makeExtension()
        try await kerberos.signIn("alice", using: .secret)
        #expect(try await kerberos.grant("www.example.test").principal == "alice@EXAMPLE.TEST")
        #expect(try await kerberos.sessions().damagedCaches.count == 1)
        #expect(try Data(contentsOf: damaged) == Data("damaged".utf8))
    }

    @Test func `a wrong password leaves existing tickets unchanged`() async throws {
        let home = try makeHome()
        let kerberos = home.makeExtension()
        try await kerberos.signIn("alice", using: .secret)
        #expect(await kerberosError { try await kerberos.signIn("alice", using: .password(Secret("wrong"))) }?.code == .wrongPassword)
        #expect(try await kerberos.grant("www.example.test").principal == "alice@EXAMPLE.TEST")
    }

    @Test func `a wrong password for a second principal leaves no cache behind`() async throws {
        let home = try makeHome()
        let kerberos = home.makeExtension()
        try await kerberos.signIn("alice", using: .secret)
        #expect(await kerberosError { try await kerberos.signIn("bob", using: .password(Secret("wrong"))) }?.code == .wrongPassword)
        let left = (try? FileManager.default.subpathsOfDirectory(atPath: "\(home.directory)/caches")) ?? []
        #expect(left.isEmpty)
        let list = try await home.makeExtension().sessions()
        #expect(list.damagedCaches.isEmpty)
        #expect(list.sessions.map(\.principal.description) == ["alice@EXAMPLE.TEST"])
    }

    @Test(arguments: [
        ("FILE:/tmp/a", false), ("KCM:", true), ("KCM:1000", false), ("KCM:1000:2", false), ("DIR:/run/a", true),
        ("DIR::/run/a/tkt", false),
        ("KEYRING:persistent:1000", true), ("KEYRING:persistent:1000:1000", false), ("MEMORY:x", true), ("/tmp/a", false),
    ])
    func `a cache name is recognized as a collection or a single cache`(name: String, isCollection: Bool) {
        #expect(CredentialCacheName(rawValue: name).isCollection == isCollection)
    }
}
