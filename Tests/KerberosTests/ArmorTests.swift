import Foundation
import Kerberos
import KerberosTesting
import KerberosTestingTraits
import TestSupport
import Testing

/// Sign-ins that a ticket protects (FAST, RFC 6113), against a KDC that takes no others.
@Suite(
    .testRealm(
        TestRealmOptions(users: ["alice": "secret"], services: ["HTTP/localhost"], acceptsPasswordChanges: true, demandsFAST: true)
    )
)
struct ArmorTests {
    let realm: TestRealm
    let alice: Principal

    init() throws {
        realm = try #require(TestRealm.current)
        alice = try Principal("alice@EXAMPLE.TEST")
    }

    private func client(armor: CredentialCacheName?) -> KerberosClient {
        var configuration = realm.configuration
        configuration.armorCache = armor
        return KerberosClient(configuration)
    }

    @Test func `a protected sign-in is taken`() async throws {
        let credential = try await client(armor: try await realm.armorCache()).initialCredential(
            for: alice,
            using: .password(Secret("secret"))
        )
        #expect(credential.client == alice)
    }

    @Test func `an unprotected one is told from a wrong password`() async throws {
        let error = await #expect(throws: KerberosError.self) {
            try await client(armor: nil).initialCredential(for: alice, using: .password(Secret("secret")))
        }
        #expect(error?.code == .preauthenticationRefused)
        #expect(error?.message.contains("ksso login --armor-cache") == true)
    }

    @Test func `a wrong password is still one`() async throws {
        let armor = try await realm.armorCache()
        let error = await #expect(throws: KerberosError.self) {
            try await client(armor: armor).initialCredential(for: alice, using: .password(Secret("wrong")))
        }
        #expect(error?.code == .wrongPassword)
    }

    /// The KDC sends the ticket without having been shown a password, and it is the client that can't read it.
    @Test(arguments: [false, true])
    func `a wrong password is one where none is demanded`(byKeytab: Bool) async throws {
        let name = "open\(UUID().uuidString.prefix(8).lowercased())"
        try await realm.add(TestPrincipal(name, password: "secret", attributes: [.needsNoPreauthentication]))
        var source = InitialCredentialSource.password(Secret("wrong"))
        if byKeytab {
            source = .keytab(try await realm.keytab(for: name))
            try await realm.rotateKeys(of: name, updatesKeytab: false)
        }
        let client = client(armor: try await realm.armorCache())
        let error = await #expect(throws: KerberosError.self) {
            try await client.initialCredential(for: Principal("\(name)@EXAMPLE.TEST"), using: source)
        }
        #expect(error?.code == .wrongPassword, "\(String(describing: error))")
    }

    @Test(arguments: ["FILE:/nonexistent/armor", "MEMORY:nothing"])
    func `armor that is not there`(name: String) async throws {
        let error = await #expect(throws: KerberosError.self) {
            try await client(armor: CredentialCacheName(rawValue: name)).initialCredential(for: alice, using: .password(Secret("secret")))
        }
        #expect(error?.code == .armorUnusable && error?.message.contains("kinit -k -c \(name)") == true, "\(String(describing: error))")
    }

    @Test func `a password is changed under protection`() async throws {
        try await realm.addUser("bob", password: "first")
        let client = client(armor: try await realm.armorCache())
        let bob = try Principal("bob@EXAMPLE.TEST")
        try await client.changePassword(of: bob, from: Secret("first"), to: Secret("second-password"))
        let credential = try await client.initialCredential(for: bob, using: .password(Secret("second-password")))
        #expect(credential.client == bob)
    }

    /// The cache does not say that its KDC knows FAST, so libkrb5 would ask bare first, and believe a KDC that says it knows none.
    @Test func `no sign in goes out bare where armor is named`() async throws {
        try await withTestRealm(TestRealmOptions(users: ["alice": "secret"], faultProxy: true)) { realm in
            let marked = try await realm.armorCache().rawValue
            let unmarked = "FILE:\(realm.directory)/unmarked"
            let copy = try await realm.run("kvno", ["-c", marked, "--out-cache", unmarked, "krbtgt/\(realm.name)@\(realm.name)"])
            try #require(copy.exitStatus == 0, "\(copy)")
            let before = try realm.network.exchanges.count
            var configuration = realm.configuration
            configuration.armorCache = CredentialCacheName(rawValue: unmarked)
            _ = try await KerberosClient(configuration).initialCredential(for: alice, using: .password(Secret("secret")))
            let first = try #require(try realm.network.exchanges.dropFirst(before).first)
            // A bare one has about 185 bytes.
            #expect(first.requestSize > 1000, "\(first)")
        }
    }

    /// Who put the ticket there knows its key.
    @Test(arguments: [0o620, 0o602])
    func `armor that others can write is not used`(mode: Int) async throws {
        let armor = try await realm.armorCache()
        let path = try #require(armor.path)
        try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: path)
        try await expectRefusal(of: armor, reason: "other users can write to it")
    }

    @Test(.enabled(if: geteuid() == 0, "only root can give a file away"))
    func `armor of another user is not used`() async throws {
        let armor = try await realm.armorCache()
        let path = try #require(armor.path)
        try FileManager.default.setAttributes([.ownerAccountID: 12345], ofItemAtPath: path)
        try await expectRefusal(of: armor, reason: "uid 12345")
    }

    /// The folder, and the cache in it.
    @Test(arguments: ["", "/tkt"])
    func `a collection of armor is looked at too`(place: String) async throws {
        let folder = "\(realm.directory)/armor-\(UUID().uuidString)"
        let folderCache = CredentialCacheName(rawValue: "DIR:\(folder)")
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
        let armor = try await realm.armorCache()
        try FileManager.default.copyItem(atPath: try #require(armor.path), toPath: "\(folder)/tkt")
        let credential = try await client(armor: folderCache).initialCredential(for: alice, using: .password(Secret("secret")))
        #expect(credential.client == alice)
        try FileManager.default.setAttributes([.posixPermissions: place.isEmpty ? 0o777 : 0o666], ofItemAtPath: folder + place)
        try await expectRefusal(of: folderCache, reason: "other users can write to it")
    }

    private func expectRefusal(of armor: CredentialCacheName, reason: String) async throws {
        let error = await #expect(throws: KerberosError.self) {
            try await client(armor: armor).initialCredential(for: alice, using: .password(Secret("secret")))
        }
        #expect(error?.code == .armorUnusable && error?.message.contains(reason) == true, "\(String(describing: error))")
        #expect(error?.message.contains("chmod go-w") == true)
    }
}
