import Foundation
import Kerberos
import KerberosTesting
import KerberosTestingTraits
import TestSupport
import Testing

/// Key rotation of a service, with tickets from before and after.
@Suite(.testRealm(users: ["alice": "secret"], services: ["HTTP/localhost"]))
struct KeyRotationTests {
    let realm: TestRealm
    let client: KerberosClient
    let alice: Principal

    init() throws {
        realm = try #require(TestRealm.current)
        client = KerberosClient(realm.configuration)
        alice = try Principal("alice@EXAMPLE.TEST")
    }

    /// Returns the first token for a service, made with a new ticket.
    private func token(for service: String) async throws -> [UInt8] {
        let ticketGranting = try await client.initialCredential(for: alice, using: .password(Secret("secret")))
        let cache = CredentialCacheName(rawValue: "FILE:\(realm.directory)/\(UUID().uuidString)")
        try await client.replace(cache, principal: alice, credentials: [ticketGranting])
        let ticket = try await client.serviceTicket(for: Principal("\(service)@EXAMPLE.TEST"), in: cache)
        let credential = try await client.initiatorCredential(for: ticket)
        switch try SPNEGOInitiator.begin(with: credential) {
        case .proceed(let token, _): return token
        case .established(let token, _): return try #require(token)
        }
    }

    /// Whether an acceptor with this keytab accepts the token.
    private func accepts(_ token: [UInt8], keytab: String) -> Bool {
        (try? Acceptance(token, keytab: keytab))?.client == "alice@EXAMPLE.TEST"
    }

    @Test(arguments: [true, false])
    func `old tickets are accepted as long as the old keys are kept`(keepingOld: Bool) async throws {
        let service = "HTTP/kept-\(keepingOld)"
        try await realm.addService(service)
        let before = try await token(for: service)
        #expect(try await realm.rotateKeys(of: service, keepingOld: keepingOld) == 2)
        let after = try await token(for: service)
        #expect(accepts(after, keytab: realm.keytabPath))
        #expect(accepts(before, keytab: realm.keytabPath) == keepingOld)
        let list = try await realm.run("klist", ["-k"]).output
        #expect(list.contains("HTTP/localhost@EXAMPLE.TEST"))
        let versions = list.split(separator: "\n").filter { $0.hasSuffix(" \(service)@EXAMPLE.TEST") }
            .compactMap { $0.split(separator: " ").first.flatMap { Int($0) } }
        #expect(Set(versions) == (keepingOld ? [1, 2] : [2]))
        #expect(versions.count == (keepingOld ? 4 : 2))
    }

    @Test func `a rotation keeps the encryption types of the keys`() async throws {
        try await realm.add(TestPrincipal("HTTP/small", encryptionTypes: [.aes128SHA256]))
        try await realm.rotateKeys(of: "HTTP/small", keepingOld: false)
        let list = try await realm.run("klist", ["-ke"]).output.split(separator: "\n").filter { $0.contains("HTTP/small@") }
        #expect(list.count == 1 && list[0].contains("aes128-cts-hmac-sha256-128"))
    }

    /// An older ticket-granting ticket is accepted as long as the database has its key.
    @Test(arguments: [true, false])
    func `the keys of the ticket-granting service can be rotated`(keepingOld: Bool) async throws {
        try await withTestRealm(users: ["alice": "secret"], services: ["HTTP/localhost"]) { realm in
            try await realm.kinit("alice", password: "secret")
            try await realm.rotateKeys(of: "krbtgt/EXAMPLE.TEST", keepingOld: keepingOld, updatesKeytab: false)
            #expect(try await (realm.run("kvno", ["HTTP/localhost"]).exitStatus == 0) == keepingOld)
        }
    }

    @Test func `a keytab that is not updated rejects new tickets`() async throws {
        try await realm.addService("HTTP/forgotten")
        #expect(try await realm.rotateKeys(of: "HTTP/forgotten", updatesKeytab: false) == 2)
        #expect(try await !accepts(token(for: "HTTP/forgotten"), keytab: realm.keytabPath))
    }

    @Test func `a rotation can update another keytab only`() async throws {
        try await realm.addService("HTTP/apart")
        let path = try await realm.keytab(for: "HTTP/apart")
        try await realm.rotateKeys(of: "HTTP/apart", in: path)
        let new = try await token(for: "HTTP/apart")
        #expect(accepts(new, keytab: path))
        #expect(!accepts(new, keytab: realm.keytabPath))
    }

    @Test func `a keytab in memory works until it is released`() async throws {
        try await realm.addService("HTTP/memory")
        let new = try await token(for: "HTTP/memory")
        var keytab: MemoryKeytab? = try await realm.memoryKeytab(for: "HTTP/memory")
        let name = try #require(keytab?.name)
        #expect(name.hasPrefix("MEMORY:"))
        #expect(accepts(new, keytab: name))
        #expect(throws: KerberosError.self) { try open("MEMORY:another") }
        keytab = nil
        #expect(throws: KerberosError.self) { try open(name) }
    }

    private func open(_ keytab: String) throws { _ = try AcceptorCredential(keytab: keytab) }

    @Test func `the bytes of a keytab can be read without leaving a file`() async throws {
        try await withTestRealm(users: ["alice": "secret"]) { realm in
            let bytes = try await realm.keytabContents(for: "alice")
            #expect(bytes.starts(with: [5, 2]))
            let left = try FileManager.default.contentsOfDirectory(atPath: realm.directory)
            #expect(!left.contains { $0.hasSuffix(".keytab") })
            let path = "\(realm.directory)/copy.keytab"
            try Data(bytes).write(to: URL(filePath: path))
            try await realm.kinit("alice", keytab: path)
        }
    }

    @Test func `rotating the keys of an unknown service fails`() async throws {
        let error = await #expect(throws: KerberosTestingError.self) { try await realm.rotateKeys(of: "HTTP/nowhere") }
        #expect(error?.code == .commandFailed)
    }
}
