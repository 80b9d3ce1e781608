import Foundation
import Kerberos
import KerberosTesting
import KerberosTestingTraits
import TestSupport
import Testing

/// An existing realm, which the test uses but does not administer; here it is a test realm.
@Suite(.testRealm(users: ["alice": "secret"], services: ["HTTP/localhost"]))
struct ExistingRealmTests {
    private func withRealm<Value>(_ body: (TestRealm) async throws -> Value) async throws -> Value {
        try await withExistingRealm(try Self.existing(), body)
    }

    private static func existing() throws -> ExistingRealm {
        let owner = try #require(TestRealm.current)
        return ExistingRealm(owner.name, configurationPath: owner.configurationPath, keytabPath: owner.keytabPath)
    }

    @Test func `users of an existing realm sign in, and both web servers greet them`() async throws {
        try await withRealm { realm in
            try await realm.kinit("alice", password: "secret")
            #expect(try await realm.klist().principal.description == "alice@EXAMPLE.TEST")
            #expect(try await realm.kvno("HTTP/localhost") > 0)
            let apache = try await withProtectedWebServer(realm: realm) { try await realm.curl("\($0.url)/hello").body }
            let acceptor = try await withAcceptorServer(realm: realm) { try await realm.curl("\($0.url)/hello").body }
            #expect([apache, acceptor] == ["Hello alice@EXAMPLE.TEST\n", "Hello alice@EXAMPLE.TEST\n"])
        }
    }

    @Test func `the files for an existing realm are in a private folder, which is removed`() async throws {
        let owner = try #require(TestRealm.current)
        let directory = try await withRealm { realm in
            #expect(TestRealm.current?.directory == realm.directory)
            #expect(realm.directory != owner.directory && realm.description == "EXAMPLE.TEST in \(realm.directory)")
            let attributes = try FileManager.default.attributesOfItem(atPath: realm.directory)
            #expect(attributes[.posixPermissions] as? Int == 0o700)
            for variable in ["KRB5_CONFIG", "KRB5CCNAME", "KRB5_KTNAME"] {
                #expect(try #require(realm.environment[variable]).contains(realm.directory))
            }
            let memory = try await realm.memoryKeytab(for: "HTTP/localhost")
            #expect(memory.name.hasPrefix("MEMORY:"))
            return realm.directory
        }
        #expect(!FileManager.default.fileExists(atPath: directory))
        #expect(FileManager.default.fileExists(atPath: owner.keytabPath))
    }

    @Test(arguments: Change.allCases)
    func `changes to an existing realm are rejected`(change: Change) async throws {
        let principals = try await TestRealm.current?.kadmin(["list_principals"])
        try await withRealm { realm in
            #expect(realm.kdcPort == 0)
            #expect(realm.kdcPorts.isEmpty && realm.networks.isEmpty)
            let error = await #expect(throws: KerberosTestingError.self) { try await change.make(in: realm) }
            #expect(error?.code == .notAdministered)
            #expect(error?.message.hasPrefix("EXAMPLE.TEST is an existing realm") == true)
        }
        #expect(try await TestRealm.current?.kadmin(["list_principals"]) == principals)
    }

    @Test func `a service without keys and a missing file are reported at once`() async throws {
        try await withRealm { realm in
            let error = await #expect(throws: KerberosTestingError.self) { try await realm.keytab(for: "HTTP/elsewhere") }
            #expect(error?.code == .invalidArgument)
            #expect(error?.message.contains("no keys of HTTP/elsewhere@EXAMPLE.TEST") == true)
        }
        for file in [\ExistingRealm.configurationPath, \.keytabPath] {
            var existing = try Self.existing()
            existing[keyPath: file] = "/nonexistent/file"
            let error = await #expect(throws: KerberosTestingError.self) { try await withExistingRealm(existing) { _ in } }
            #expect(error?.code == .invalidArgument)
            #expect(error?.message.contains("/nonexistent/file") == true)
        }
    }

    /// Operations that only the administrator of a realm can do.
    enum Change: CaseIterable {
        case addUser, addService, addPrincipal, addPolicy, kadmin, lock, setPassword, rotateKeys, failedAttempts, armor, certificate
        case stopKDC, killKDC, startKDC, pauseKDC, resumeKDC, setClock, network, log, proxy

        func make(in realm: TestRealm) async throws {
            switch self {
            case .addUser: try await realm.addUser("eve", password: "secret")
            case .addService: try await realm.addService("HTTP/elsewhere")
            case .addPrincipal: try await realm.add(TestPrincipal("eve", password: "secret"))
            case .addPolicy: try await realm.add(PasswordPolicy("strict"))
            case .kadmin: _ = try await realm.kadmin(["list_principals"])
            case .lock: try await realm.lock("alice")
            case .setPassword: try await realm.setPassword(of: "alice", to: "other")
            case .rotateKeys: try await realm.rotateKeys(of: "HTTP/localhost")
            case .failedAttempts: _ = try await realm.failedAttempts(of: "alice")
            case .armor: _ = try await realm.armorCache()
            case .certificate: _ = try await realm.certificate(for: "alice")
            case .stopKDC: try await realm.stopKDC()
            case .killKDC: try await realm.killKDC()
            case .startKDC: try await realm.startKDC()
            case .pauseKDC: try await realm.pauseKDC()
            case .resumeKDC: try await realm.resumeKDC()
            case .setClock: try await realm.setKDCClock(offset: .seconds(60))
            case .network: _ = try realm.network
            case .log: _ = try realm.log()
            case .proxy: try await withKDCProxy(realm: realm) { _ in }
            }
        }
    }
}
