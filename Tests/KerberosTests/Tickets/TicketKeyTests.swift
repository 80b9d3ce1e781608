import KerberosTesting
import KerberosTestingTraits
import TestSupport
import Testing

@testable import Kerberos

/// The key of a ticket compared with the keys of a keytab.
@Suite(.testRealm(users: ["alice": "secret"], services: ["HTTP/www.example.test"])) struct TicketKeyTests {
    private static let service = "HTTP/www.example.test"
    private let realm: TestRealm

    init() throws { realm = try TestRealm.required() }

    @Test func `the service's keytab has the key of its ticket and decrypts it`() async throws {
        let user = try await realm.signIn()
        let ticket = try await user.serviceTicket(realm.principal(Self.service))
        let key = try await user.client.key(of: ticket)
        #expect(key == TicketKey(version: 1, encryptionType: "aes256-cts-hmac-sha1-96"))
        let contents = try await user.client.keytabContents(realm.keytabPath)
        #expect(contents.entries.contains(.init(principal: try realm.principal(Self.service), key: key)))
        try await user.client.checkDecryption(of: ticket, with: realm.keytabPath)
    }

    @Test func `without a name the default keytab is read`() async throws {
        #expect(try await realm.client.keytabContents(nil).name == "FILE:\(realm.keytabPath)")
    }

    @Test func `another key with the same version number does not decrypt the ticket`() async throws {
        let name = "HTTP/moved.example.test"
        _ = try await realm.kadmin(["add_principal", "-randkey", name])
        let old = try await realm.keytab(for: name)
        _ = try await realm.kadmin(["delete_principal", "-force", name])
        _ = try await realm.kadmin(["add_principal", "-randkey", name])
        let user = try await realm.signIn()
        let ticket = try await user.serviceTicket(realm.principal(name))
        let key = try await user.client.key(of: ticket)
        #expect(try await user.client.keytabContents(old).entries.contains { $0.key == key })
        await expectFailure(.other) { try await user.client.checkDecryption(of: ticket, with: old) }
    }

    @Test func `a missing keytab is reported as unusable`() async throws {
        let client = realm.client
        await expectFailure(.keytabUnusable) { _ = try await client.keytabContents("/nonexistent/keytab") }
    }
}
