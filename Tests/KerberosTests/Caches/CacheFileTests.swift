import Foundation
import Kerberos
import KerberosTesting
import KerberosTestingTraits
import TestSupport
import Testing

/// Cache files are replaced atomically, and damaged ones are rejected.
@Suite(.testRealm(users: ["alice": "secret"], services: ["HTTP/www.example.test"])) struct CacheFileTests {
    @Test func `a reader sees either the old or the new contents of a cache file`() async throws {
        let user = try await TestRealm.required().signIn()
        let service = try await user.serviceTicket(TestRealm.required().principal("HTTP/www.example.test"))
        let writer = Task {
            for round in 0..<100 {
                let credentials = round.isMultiple(of: 2) ? [user.ticket] : [user.ticket, service]
                try await user.client.replace(user.cache, principal: user.principal, credentials: credentials)
            }
        }
        let reader = try TestRealm.required().client
        for _ in 0..<200 {
            let contents = try await reader.contents(of: user.cache)
            #expect((1...2).contains(contents.credentials.count))
            #expect(contents.ticketGrantingTicket != nil)
        }
        try await writer.value
    }

    @Test(arguments: ["FILE:", "DIR::"])
    func `replacing a cache file leaves no temporary file in its folder`(prefix: String) async throws {
        let user = try await TestRealm.required().signIn()
        let folder = try makeFolder()
        let name = CredentialCacheName(rawValue: "\(prefix)\(folder)/tktalice")
        for _ in 0..<3 { try await user.client.replace(name, principal: user.principal, credentials: [user.ticket]) }
        let left = try FileManager.default.contentsOfDirectory(atPath: folder).filter { $0 != "primary" }
        #expect(left == ["tktalice"])
        let attributes = try FileManager.default.attributesOfItem(atPath: "\(folder)/tktalice")
        #expect(attributes[.posixPermissions] as? Int == 0o600)
    }

    @Test func `a DIR collection never lists a temporary file`() async throws {
        let realm = try TestRealm.required()
        let user = try await realm.signIn()
        let folder = try makeFolder()
        let name = CredentialCacheName(rawValue: "DIR::\(folder)/tktalice")
        try await user.client.replace(name, principal: user.principal, credentials: [user.ticket])
        let writer = Task {
            for _ in 0..<200 { try await user.client.replace(name, principal: user.principal, credentials: [user.ticket]) }
        }
        let reader = KerberosClient(realm.configuration(defaultCacheName: "DIR:\(folder)"))
        for _ in 0..<200 { #expect(try await reader.cacheNames() == [name]) }
        try await writer.value
    }

    @Test(arguments: ["occupied", "missing/folder/ccache", "/proc/self/ccache"])
    func `a failed write leaves no temporary file`(target: String) async throws {
        let user = try await TestRealm.required().signIn()
        let folder = try makeFolder()
        try FileManager.default.createDirectory(atPath: "\(folder)/occupied/within", withIntermediateDirectories: true)
        let path = target.hasPrefix("/") ? target : "\(folder)/\(target)"
        let name = CredentialCacheName(rawValue: "FILE:\(path)")
        let error = await expectFailure(.cacheUnusable, .noCredentials) {
            try await user.client.replace(name, principal: user.principal, credentials: [user.ticket])
        }
        #expect(error?.code == .cacheUnusable, "the cache cannot be written; no ticket is missing")
        #expect(error?.subject == path)
        #expect(try FileManager.default.subpathsOfDirectory(atPath: folder).sorted() == ["occupied", "occupied/within"])
    }

    @Test func `a cache file truncated anywhere but between tickets is corrupt`() async throws {
        let user = try await TestRealm.required().signIn()
        _ = try await user.serviceTicket(TestRealm.required().principal("HTTP/www.example.test"))
        let whole = try Data(contentsOf: URL(filePath: try #require(user.cache.path)))
        var (shorter, empty): ([Int], [Int]) = ([], [])
        for length in whole.indices {
            // A file that ends between two tickets is a valid cache with fewer tickets.
            do throws(KerberosError) {
                shorter.append(try await contents(whole.prefix(length), user: user).credentials.count)
            } catch  where error.code == .noCredentials {
                empty.append(length)
            } catch {
                try await expectDamage(whole.prefix(length), user: user, comment: "\(length) of \(whole.count)")
            }
        }
        #expect(shorter == [0, 1])
        #expect(empty.count == 1, "only a file with nothing but its header is empty: \(empty)")
    }

    /// kinit leaves such a file in a DIR collection if the password is wrong.
    @Test(arguments: [[5, 4, 0, 0], [5, 4, 0, 12, 0, 1, 0, 8, 0, 0, 0, 0, 0, 0, 0, 0]] as [[UInt8]])
    func `a cache file without a principal is empty`(bytes: [UInt8]) async throws {
        let user = try await TestRealm.required().signIn()
        let name = try TestRealm.required().newCache()
        try Data(bytes).write(to: URL(filePath: #require(name.path)))
        await expectFailure(.noCredentials) { _ = try await user.client.contents(of: name) }
        await expectFailure(.noCredentials) { _ = try await user.client.listing(of: name) }
        try await user.client.replace(name, principal: user.principal, credentials: [user.ticket])
        #expect(try await user.client.contents(of: name).credentials.count == 1)
    }

    private static let garbage: [[UInt8]] = [
        Array("[libdefaults]\n".utf8), [5], [5, 4], [5, 4, 0], [5, 9, 0, 0], [5, 4, 0xff, 0xff],
        Array(repeating: 0, count: 4096),
        Array(repeating: 0xff, count: 4096), [5, 4, 0, 0] + Array(repeating: 0x7f, count: 64),
        [5, 4, 0, 0] + Array(repeating: 0xff, count: 64),
        [5, 3] + Array(repeating: 0x7f, count: 64), [5, 1] + Array(repeating: 0x01, count: 64),
    ]

    @Test(arguments: garbage)
    func `a file that is not a cache is corrupt`(bytes: [UInt8]) async throws {
        let user = try await TestRealm.required().signIn()
        try await expectDamage(Data(bytes), user: user, comment: "\(bytes.prefix(8))")
    }

    /// Expects that reading fails with the right code and leaves the file unchanged.
    private func expectDamage(_ data: Data, user: SignedIn, comment: String) async throws {
        let realm = try TestRealm.required()
        let name = realm.newCache()
        let url = URL(filePath: try #require(name.path))
        try data.write(to: url)
        await expectFailure(.cacheCorrupt, .cacheUnusable, comment: comment) { _ = try await user.client.contents(of: name) }
        // Data(contentsOf:) leaks its buffer for an empty file.
        #expect(try FileHandle(forReadingFrom: url).readToEnd() ?? Data() == data)
        try FileManager.default.removeItem(at: url)
    }

    private func contents(_ data: Data, user: SignedIn) async throws(KerberosError) -> CredentialCacheContents {
        let name: CredentialCacheName
        do {
            name = try TestRealm.required().newCache()
            try data.write(to: URL(filePath: #require(name.path)))
        } catch {
            throw KerberosError(.other, subject: "", message: "\(error)")
        }
        return try await user.client.contents(of: name)
    }

    private func makeFolder() throws -> String {
        let path = try TestRealm.required().newPath()
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
        return path
    }
}

@Suite struct CredentialCacheNameTests {
    @Test(
        arguments: [
            ("/tmp/cc", "FILE:/tmp/cc", "FILE", "/tmp/cc", "/tmp/cc"), ("FILE:/tmp/cc", "FILE:/tmp/cc", "FILE", "/tmp/cc", "/tmp/cc"),
            ("DIR::/tmp/c/tkt", "DIR::/tmp/c/tkt", "DIR", ":/tmp/c/tkt", "/tmp/c/tkt"), ("DIR:/tmp/c", "DIR:/tmp/c", "DIR", "/tmp/c", nil),
            ("KCM:1000:5", "KCM:1000:5", "KCM", "1000:5", nil), ("MEMORY:x", "MEMORY:x", "MEMORY", "x", nil),
            ("KEYRING:persistent:0", "KEYRING:persistent:0", "KEYRING", "persistent:0", nil),
        ] as [(String, String, String, String, String?)]
    )
    func `a cache name is split into its type, residual and path`(
        text: String,
        rawValue: String,
        type: String,
        residual: String,
        path: String?
    ) {
        let name = CredentialCacheName(rawValue: text)
        #expect(name.rawValue == rawValue)
        #expect(name.type == type)
        #expect(name.residual == residual)
        #expect(name.path == path)
    }

    @Test(arguments: ["NOSUCHTYPE:x", "API:", ""])
    func `a cache type that libkrb5 does not know is unusable`(text: String) async {
        let client = KerberosClient(RealmConfiguration(realm: "EXAMPLE.TEST", base: .none))
        let name = CredentialCacheName(rawValue: text)
        await expectFailure(.cacheUnusable, .noCredentials) { _ = try await client.contents(of: name) }
    }
}
