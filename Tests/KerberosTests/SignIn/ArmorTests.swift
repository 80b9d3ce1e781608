import Foundation
import Kerberos
import KerberosTesting
import KerberosTestingTraits
import TestSupport
import Testing

/// Sign-ins protected by FAST (RFC 6113), with a KDC that rejects all others.
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

    @Test func `the KDC accepts a sign-in with armor`() async throws {
        let credential = try await client(armor: try await realm.armorCache()).initialCredential(
            for: alice,
            using: .password(Secret("secret"))
        )
        #expect(credential.client == alice)
    }

    @Test func `a sign-in without armor fails with another error than a wrong password`() async throws {
        let error = await #expect(throws: KerberosError.self) {
            try await client(armor: nil).initialCredential(for: alice, using: .password(Secret("secret")))
        }
        #expect(error?.code == .preauthenticationRefused)
        #expect(error?.message.contains("ksso login --armor-cache") == true)
    }

    @Test func `a wrong password with armor is reported as a wrong password`() async throws {
        let armor = try await realm.armorCache()
        let error = await #expect(throws: KerberosError.self) {
            try await client(armor: armor).initialCredential(for: alice, using: .password(Secret("wrong")))
        }
        #expect(error?.code == .wrongPassword)
    }

    /// The KDC sends the ticket without pre-authentication, and the client cannot decrypt it.
    @Test(arguments: [false, true])
    func `a wrong password or key is reported even without pre-authentication`(byKeytab: Bool) async throws {
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
    func `a missing armor cache is reported with the kinit command that creates it`(name: String) async throws {
        let error = await #expect(throws: KerberosError.self) {
            try await client(armor: CredentialCacheName(rawValue: name)).initialCredential(for: alice, using: .password(Secret("secret")))
        }
        #expect(error?.code == .armorUnusable && error?.message.contains("kinit -k -c \(name)") == true, "\(String(describing: error))")
    }

    @Test func `a password can be changed with armor`() async throws {
        try await realm.addUser("bob", password: "first")
        let client = client(armor: try await realm.armorCache())
        let bob = try Principal("bob@EXAMPLE.TEST")
        try await client.changePassword(of: bob, from: Secret("first"), to: Secret("second-password"))
        let credential = try await client.initialCredential(for: bob, using: .password(Secret("second-password")))
        #expect(credential.client == bob)
    }

    /// libkrb5 would otherwise send the first request without armor, and believe a KDC that claims not to know FAST.
    @Test func `the first request uses armor even if the cache does not record that the KDC knows FAST`() async throws {
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
            // A request without armor has about 185 bytes.
            #expect(first.requestSize > 1000, "\(first)")
        }
    }

    /// As on a machine of another realm than the user's. The second sign-in finds the tickets.
    @Test func `armor of another realm acquires tickets for the user's realm, which are stored`() async throws {
        try await withTrustedRealms(.init(name: "A.TEST"), .init(name: "B.TEST", users: ["bob": "secret"])) { first, second in
            let armor = try await first.armorCache()
            var configuration = first.configuration
            configuration.armorCache = armor
            let client = KerberosClient(configuration)
            for _ in 0..<2 {
                _ = try await client.initialCredential(for: Principal("bob@B.TEST"), using: .password(Secret("secret")))
                let servers = try await client.contents(of: armor).credentials.map(\.server.description)
                #expect(servers.filter { $0 != "krbtgt/A.TEST@A.TEST" } == ["krbtgt/B.TEST@A.TEST", "krbtgt/B.TEST@B.TEST"])
            }
            #expect(try second.issued(.initialTicket, client: "bob") == 2)
        }
    }

    /// The user who wrote the ticket to the cache knows its key.
    @Test(arguments: [0o620, 0o602])
    func `an armor cache that other users can write to is rejected`(mode: Int) async throws {
        let armor = try await realm.armorCache()
        let path = try #require(armor.path)
        try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: path)
        try await expectRefusal(of: armor, reason: "other users can write to it")
    }

    @Test(.enabled(if: geteuid() == 0, "only root can change the owner of a file"))
    func `an armor cache owned by another user is rejected`() async throws {
        let armor = try await realm.armorCache()
        let path = try #require(armor.path)
        try FileManager.default.setAttributes([.ownerAccountID: 12345], ofItemAtPath: path)
        try await expectRefusal(of: armor, reason: "uid 12345")
    }

    /// Checks the folder of the collection, and the cache in it.
    @Test(arguments: ["", "/tkt"])
    func `an armor collection that other users can write to is rejected`(place: String) async throws {
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
