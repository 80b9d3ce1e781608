import Foundation
import Kerberos
import KerberosTesting
import KerberosTestingTraits
import TestSupport
import Testing

/// What holds of a cache of any type.
@Suite(.testRealm(users: ["alice": "secret", "bob": "secret"], services: ["HTTP/www.example.test"])) struct CacheTests {
    enum Kind: String, CaseIterable, Sendable {
        case file = "FILE"
        case directory = "DIR"
        case memory = "MEMORY"
        case keyring = "KEYRING"
        case kcm = "KCM"

        func name(in realm: TestRealm) throws -> CredentialCacheName {
            switch self {
            case .file: return realm.newCache()
            case .directory:
                let path = realm.newPath()
                try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
                return CredentialCacheName(rawValue: "DIR::\(path)/tktalice")
            case .memory: return CredentialCacheName(rawValue: "MEMORY:\(UUID().uuidString)")
            case .keyring: return CredentialCacheName(rawValue: "KEYRING:session:kerberos-tests:\(UUID().uuidString)")
            case .kcm: return CredentialCacheName(rawValue: "KCM:\(getuid()):\(UUID().uuidString)")
            }
        }

        /// A file is alone, and so is a cache in memory for libkrb5.
        var hasCollections: Bool { self != .file && self != .memory }

        /// Where a KCM daemon listens, if there is one.
        static let daemonPath = "/run/.heim_org.h5l.kcm-socket"
        static let hasDaemon = FileManager.default.fileExists(atPath: daemonPath)

        /// The types that this machine has.
        static let present = allCases.filter { $0 != .kcm || hasDaemon }

        /// Ends the test as cancelled, with a warning that says why, where the kernel has no such caches.
        func requireSupport(_ user: SignedIn) async throws {
            guard self == .keyring else { return }
            let name = CredentialCacheName(rawValue: "KEYRING:session:kerberos-tests:probe\(UUID().uuidString)")
            do {
                try await user.client.replace(name, principal: user.principal, credentials: [])
            } catch {
                Issue.record("KEYRING caches are not tested: the kernel refuses them (\(error))", severity: .warning)
                try Test.cancel("the kernel refuses keyrings")
            }
            try await user.client.destroy(name)
        }
    }

    /// Stands in the results as skipped, with the reason, where KCM is left out of the tests below.
    @Test(.enabled(if: Kind.hasDaemon, "KCM caches are not tested: no daemon listens at \(Kind.daemonPath)"))
    func `a KCM daemon has its caches tested`() {
        #expect(Kind.present.contains(.kcm))
    }

    private func start(_ kind: Kind) async throws -> (user: SignedIn, cache: CredentialCacheName) {
        let realm = try TestRealm.required()
        let user = try await realm.signIn()
        try await kind.requireSupport(user)
        return (user, try kind.name(in: realm))
    }

    @Test(arguments: Kind.present)
    func `what is stored is read`(kind: Kind) async throws {
        let (user, cache) = try await start(kind)
        let service = try await user.serviceTicket(TestRealm.required().principal("HTTP/www.example.test"))
        try await user.client.replace(cache, principal: user.principal, credentials: [user.ticket], marks: ["ksso_a": "1", "ksso_b": ""])
        try await user.client.store(service, in: cache)
        try await user.client.setMark("ksso_c", to: "zoë, \"quoted\"", in: cache)
        let contents = try await user.client.contents(of: cache)
        #expect(contents.name == cache)
        #expect(contents.principal == user.principal)
        #expect(Set(contents.credentials.map(\.server)) == [user.ticket.server, service.server])
        #expect(contents.credentials.allSatisfy { $0.client == user.principal })
        #expect(contents.ticketGrantingTicket?.times == user.ticket.times)
        #expect(contents.marks.filter { $0.key.hasPrefix("ksso_") } == ["ksso_a": "1", "ksso_b": "", "ksso_c": "zoë, \"quoted\""])
        try await user.client.destroy(cache)
    }

    @Test(arguments: Kind.present)
    func `a mark is replaced`(kind: Kind) async throws {
        let (user, cache) = try await start(kind)
        try await user.client.replace(cache, principal: user.principal, credentials: [user.ticket], marks: ["ksso_a": "1"])
        try await user.client.setMark("ksso_a", to: "2", in: cache)
        let contents = try await user.client.contents(of: cache)
        #expect(contents.marks["ksso_a"] == "2")
        #expect(contents.credentials.count == 1)
        try await user.client.destroy(cache)
    }

    @Test(arguments: Kind.present)
    func `replacing leaves nothing of the old`(kind: Kind) async throws {
        let (user, cache) = try await start(kind)
        let service = try await user.serviceTicket(TestRealm.required().principal("HTTP/www.example.test"))
        try await user.client.replace(cache, principal: user.principal, credentials: [user.ticket, service], marks: ["ksso_a": "1"])
        let bob = try await TestRealm.required().signIn("bob")
        try await user.client.replace(cache, principal: bob.principal, credentials: [bob.ticket])
        let contents = try await user.client.contents(of: cache)
        #expect(contents.principal == bob.principal)
        #expect(contents.credentials.map(\.client) == [bob.principal])
        #expect(contents.marks.isEmpty)
        try await user.client.destroy(cache)
    }

    @Test(arguments: Kind.present)
    func `a destroyed cache is gone and destroying again is no fault`(kind: Kind) async throws {
        let (user, cache) = try await start(kind)
        try await user.client.replace(cache, principal: user.principal, credentials: [user.ticket])
        try await user.client.destroy(cache)
        await expectFailure(.noCredentials) { _ = try await user.client.contents(of: cache) }
        try await user.client.destroy(cache)
    }

    @Test(arguments: Kind.present)
    func `a cache that was never made has no credentials`(kind: Kind) async throws {
        let (user, cache) = try await start(kind)
        let error = await expectFailure(.noCredentials) { _ = try await user.client.contents(of: cache) }
        #expect(error?.subject == cache.rawValue)
        await expectFailure(.noCredentials) {
            _ = try await user.client.serviceTicket(for: TestRealm.required().principal("HTTP/www.example.test"), in: cache)
        }
    }

    @Test(arguments: Kind.present)
    func `the collection lists its caches the primary first`(kind: Kind) async throws {
        let realm = try TestRealm.required()
        let user = try await realm.signIn()
        try await kind.requireSupport(user)
        let client = KerberosClient(realm.configuration(defaultCacheName: try collection(kind, realm: realm)))
        #expect(try await client.supportsCollections(client.defaultCacheName()) == kind.hasCollections)
        guard kind.hasCollections else { return }
        var names: [CredentialCacheName] = []
        for _ in 0..<3 {
            let name = try await client.newCacheName(type: kind.rawValue)
            try await client.replace(name, principal: user.principal, credentials: [user.ticket])
            names.append(name)
        }
        #expect(Set(names).count == 3)
        // A KCM daemon serves all of a user's programs: others may have caches there.
        let listed = Set(try await client.cacheNames())
        #expect(kind == .kcm ? listed.isSuperset(of: names) : listed == Set(names))
        for name in names.reversed() {
            try await client.makePrimary(name)
            #expect(try await client.cacheNames().first == name)
        }
        for name in names { try await client.destroy(name) }
        #expect(Set(try await client.cacheNames()).isDisjoint(with: names))
    }

    /// The name of a fresh collection.
    private func collection(_ kind: Kind, realm: TestRealm) throws -> String {
        switch kind {
        case .file, .memory: return try kind.name(in: realm).rawValue
        case .directory:
            let path = realm.newPath()
            try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
            return "DIR:\(path)"
        case .keyring: return "KEYRING:session:kerberos-tests-collection"
        case .kcm: return "KCM:"
        }
    }
}
