import Foundation
import Kerberos
import KerberosTesting
import KerberosTestingTraits
import TestSupport
import Testing

@Suite(.testRealm(users: ["app": "secret", "bob": "secret", "rotated": "secret"], services: ["HTTP/www.example.test"]))
struct KeytabTests {
    @Test(arguments: ["", "FILE:"])
    func `a keytab signs in, with and without the FILE prefix`(prefix: String) async throws {
        let realm = try TestRealm.required()
        let keytab = prefix + (try await realm.keytab(for: "app"))
        let ticket = try await signIn("app", keytab: keytab, realm: realm)
        #expect(try ticket.client == realm.principal("app"))
    }

    @Test func `a service signs in with its own keys`() async throws {
        let realm = try TestRealm.required()
        let ticket = try await signIn("HTTP/www.example.test", keytab: realm.keytabPath, realm: realm)
        #expect(ticket.client.components == ["HTTP", "www.example.test"])
    }

    @Test func `the client keytab in the configuration signs in its first principal`() async throws {
        let realm = try TestRealm.required()
        var configuration = realm.configuration
        configuration.libdefaults["default_client_keytab_name"] = "FILE:\(try await realm.keytab(for: "app"))"
        let client = KerberosClient(configuration)
        let principal = try await client.firstPrincipal(inKeytab: .clientKeytab)
        #expect(try principal == realm.principal("app"))
        let ticket = try await client.initialCredential(for: principal, using: .clientKeytab)
        #expect(ticket.client == principal)
    }

    @Test func `the first principal of a keytab is that of its first entry`() async throws {
        let realm = try TestRealm.required()
        let principal = try await realm.client.firstPrincipal(inKeytab: .keytab(realm.keytabPath))
        #expect(try principal == realm.principal("HTTP/www.example.test"))
    }

    @Test func `a missing client keytab is reported as unusable`() async throws {
        let realm = try TestRealm.required()
        await expectFailure(.keytabUnusable) {
            _ = try await realm.client.initialCredential(for: realm.principal("app"), using: .clientKeytab)
        }
        await expectFailure(.keytabUnusable) { _ = try await realm.client.firstPrincipal(inKeytab: .clientKeytab) }
    }

    /// Contents of files that are not keytabs.
    private static let contents: [(name: String, bytes: [UInt8]?)] = [
        ("missing", nil), ("empty", []), ("header only", [5, 2]), ("text", Array("alice:secret\n".utf8)), ("old version", [5, 9, 0, 0]),
        ("huge entry", [5, 2, 0x7f, 0xff, 0xff, 0xff, 0, 1]), ("zeros", Array(repeating: 0, count: 64)),
    ]

    /// The operations that read a keytab.
    enum Reader: CaseIterable, Sendable {
        case signIn, firstPrincipal, acceptor

        func read(_ path: String, realm: TestRealm) async throws {
            switch self {
            case .signIn: _ = try await realm.client.initialCredential(for: realm.principal("app"), using: .keytab(path))
            case .firstPrincipal: _ = try await realm.client.firstPrincipal(inKeytab: .keytab(path))
            case .acceptor: _ = try AcceptorCredential(keytab: path, replayCache: .disabled)
            }
        }
    }

    @Test(arguments: contents, Reader.allCases)
    func `a file that is not a keytab is rejected with its path`(content: (name: String, bytes: [UInt8]?), reader: Reader) async throws {
        let realm = try TestRealm.required()
        let path = realm.newPath(".keytab")
        if let bytes = content.bytes { try Data(bytes).write(to: URL(filePath: path)) }
        let error = await expectFailure(.keytabUnusable, comment: content.name) { try await reader.read(path, realm: realm) }
        #expect(error?.description.contains(path) == true)
    }

    @Test func `a sign-in with another principal's keytab fails because the key is missing`() async throws {
        let realm = try TestRealm.required()
        let keytab = try await realm.keytab(for: "bob")
        let error = await expectFailure(.keytabEntryMissing) { _ = try await signIn("app", keytab: keytab, realm: realm) }
        #expect(error?.message.contains("klist -k") == true)
    }

    @Test func `a sign-in of an unknown principal with another principal's keytab fails`() async throws {
        let realm = try TestRealm.required()
        let keytab = try await realm.keytab(for: "bob")
        await expectFailure(.unknownPrincipal, .keytabEntryMissing) { _ = try await signIn("nobody", keytab: keytab, realm: realm) }
    }

    @Test func `an outdated keytab is rejected with advice to export it again`() async throws {
        let realm = try TestRealm.required()
        let keytab = try await realm.keytab(for: "rotated")
        _ = try await realm.kadmin(["change_password", "-randkey", "rotated"])
        let error = await expectFailure(.wrongPassword) { _ = try await signIn("rotated", keytab: keytab, realm: realm) }
        #expect(error?.message.contains("Export the keytab again") == true)
    }

    private func signIn(_ name: String, keytab: String, realm: TestRealm) async throws -> Credential {
        try await realm.client.initialCredential(for: realm.principal(name), using: .keytab(keytab))
    }
}
