import Foundation
import Kerberos
import KerberosTesting
import KerberosTestingTraits
import TestSupport
import Testing

/// Operations that work alike for caches of every type.
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

        /// In libkrb5, FILE and MEMORY caches form no collections.
        var hasCollections: Bool { self != .file && self != .memory }

        /// The socket of a KCM daemon, if one runs.
        static let daemonPath = "/run/.heim_org.h5l.kcm-socket"
        static let hasDaemon = FileManager.default.fileExists(atPath: daemonPath)

        /// Cancels the test, with the reason, if no KCM daemon listens or the kernel does not support these caches.
        func requireSupport(_ user: SignedIn) async throws {
            if self == .kcm, !Self.hasDaemon { try Test.cancel("no KCM daemon listens at \(Self.daemonPath)") }
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

    private func start(_ kind: Kind) async throws -> (user: SignedIn, cache: CredentialCacheName) {
        let realm = try TestRealm.required()
        let user = try await realm.signIn()
        try await kind.requireSupport(user)
        return (user, try kind.name(in: realm))
    }

    @Test(arguments: Kind.allCases)
    func `stored credentials and marks are read back`(kind: Kind) async throws {
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

    @Test(arguments: Kind.allCases)
    func `setting a mark again replaces its value`(kind: Kind) async throws {
        let (user, cache) = try await start(kind)
        try await user.client.replace(cache, principal: user.principal, credentials: [user.ticket], marks: ["ksso_a": "1"])
        try await user.client.setMark("ksso_a", to: "2", in: cache)
        let contents = try await user.client.contents(of: cache)
        #expect(contents.marks["ksso_a"] == "2")
        #expect(contents.credentials.count == 1)
        try await user.client.destroy(cache)
    }

    @Test(arguments: Kind.allCases)
    func `replacing a cache removes its old credentials and marks`(kind: Kind) async throws {
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

    @Test(arguments: Kind.allCases)
    func `destroying a cache removes it, and destroying it again succeeds`(kind: Kind) async throws {
        let (user, cache) = try await start(kind)
        try await user.client.replace(cache, principal: user.principal, credentials: [user.ticket])
        try await user.client.destroy(cache)
        await expectFailure(.noCredentials) { _ = try await user.client.contents(of: cache) }
        try await user.client.destroy(cache)
    }

    @Test(arguments: Kind.allCases)
    func `a missing cache is reported as having no credentials`(kind: Kind) async throws {
        let (user, cache) = try await start(kind)
        let error = await expectFailure(.noCredentials) { _ = try await user.client.contents(of: cache) }
        #expect(error?.subject == cache.rawValue)
        await expectFailure(.noCredentials) {
            _ = try await user.client.serviceTicket(for: TestRealm.required().principal("HTTP/www.example.test"), in: cache)
        }
    }

    @Test(arguments: Kind.allCases)
    func `a collection lists its primary cache first`(kind: Kind) async throws {
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
        // A KCM daemon serves all of a user's programs, so other caches may exist.
        let listed = Set(try await client.cacheNames())
        #expect(kind == .kcm ? listed.isSuperset(of: names) : listed == Set(names))
        for name in names.reversed() {
            try await client.makePrimary(name)
            #expect(try await client.cacheNames().first == name)
        }
        for name in names { try await client.destroy(name) }
        #expect(Set(try await client.cacheNames()).isDisjoint(with: names))
    }

    /// Returns the name of a new collection.
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
