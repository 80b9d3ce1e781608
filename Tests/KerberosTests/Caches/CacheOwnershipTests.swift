import Foundation
import Kerberos
import KerberosTesting
import KerberosTestingTraits
import TestSupport
import Testing

/// Caches that another user owns or can change are never read.
///
/// Serialized because the tests count the KDC's requests.
@Suite(.testRealm(users: ["alice": "secret"], services: ["HTTP/www.example.test"]), .serialized) struct CacheOwnershipTests {
    @Test(arguments: [0o666, 0o620, 0o602])
    func `a cache that other users can write to is rejected`(mode: Int) async throws {
        let user = try await withServiceTicket()
        try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: try #require(user.cache.path))
        try await expectRefusal(of: user, reason: "other users can write")
    }

    @Test(.enabled(if: geteuid() == 0, "only root can change the owner of a file"))
    func `a cache owned by another user is rejected`() async throws {
        let user = try await withServiceTicket()
        try FileManager.default.setAttributes([.ownerAccountID: 12345], ofItemAtPath: try #require(user.cache.path))
        try await expectRefusal(of: user, reason: "uid 12345")
    }

    /// Opening the FIFO would block until another process opens it for writing.
    @Test func `a DIR collection in a directory that other users can write to is rejected`() async throws {
        let user = try await TestRealm.required().signIn()
        let folder = try TestRealm.required().newPath()
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
        let names = ["DIR:\(folder)", "DIR::\(folder)/tkt"].map(CredentialCacheName.init(rawValue:))
        try await user.client.replace(names[1], principal: user.principal, credentials: [user.ticket])
        try FileManager.default.setAttributes([.posixPermissions: 0o777], ofItemAtPath: folder)
        for name in names {
            let error = await expectFailure(.cacheUnusable) { _ = try await user.client.contents(of: name) }
            #expect(error?.message.contains("directory \(folder) cannot be used: other users can write to it. Run: chmod go-w") == true)
            await expectFailure(.cacheUnusable) {
                try await user.client.replace(name, principal: user.principal, credentials: [user.ticket])
            }
        }
        try FileManager.default.setAttributes([.posixPermissions: 0o700], ofItemAtPath: folder)
        for name in names { #expect(try await user.client.contents(of: name).principal == user.principal) }
    }

    @Test(.timeLimit(.minutes(5))) func `a FIFO at the path of a cache does not block`() async throws {
        let realm = try TestRealm.required()
        let cache = realm.newCache()
        try #require(mkfifo(try #require(cache.path), 0o600) == 0)
        let service = try realm.principal("HTTP/www.example.test")
        let elapsed = await ContinuousClock().measure {
            let error = await expectFailure(.cacheUnusable) { _ = try await realm.client.contents(of: cache) }
            #expect(error?.message.contains("not a regular file") == true)
            await expectFailure(.cacheUnusable) { _ = try await realm.client.serviceTicket(for: service, in: cache) }
        }
        #expect(elapsed < .seconds(20))
    }

    private func withServiceTicket() async throws -> SignedIn {
        let user = try await TestRealm.required().signIn()
        _ = try await user.serviceTicket(TestRealm.required().principal("HTTP/www.example.test"))
        return user
    }

    /// Expects that no ticket of the cache is used, no request reaches the KDC, and the file stays unchanged.
    private func expectRefusal(of user: SignedIn, reason: String) async throws {
        let realm = try TestRealm.required()
        let url = URL(filePath: try #require(user.cache.path))
        let before = try Data(contentsOf: url)
        let requests = try realm.received(.serviceTicket)
        let service = try realm.principal("HTTP/www.example.test")
        let error = await expectFailure(.cacheUnusable) { _ = try await user.client.contents(of: user.cache) }
        #expect(error?.subject == user.cache.rawValue)
        #expect(error?.message.contains(reason) == true, "\(error?.message ?? "")")
        for cachedOnly in [true, false] {
            await expectFailure(.cacheUnusable) { _ = try await user.serviceTicket(service, cachedOnly: cachedOnly) }
        }
        await expectFailure(.cacheUnusable) { _ = try await user.client.renewedCredential(for: user.principal, in: user.cache) }
        #expect(try realm.received(.serviceTicket) == requests)
        #expect(try Data(contentsOf: url) == before)
    }
}
