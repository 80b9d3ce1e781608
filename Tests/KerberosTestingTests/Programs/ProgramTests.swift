import Foundation
import Kerberos
import KerberosTesting
import KerberosTestingTraits
import TestSupport
import Testing

/// Running kinit, klist, kvno and curl in a realm.
@Suite(.testRealm(users: ["alice": "secret"], services: ["HTTP/localhost"]))
struct ProgramTests {
    let realm: TestRealm
    let cache: String

    init() throws {
        realm = try #require(TestRealm.current)
        cache = "FILE:\(realm.directory)/\(UUID().uuidString)"
    }

    @Test func `kinit gets a ticket with a password`() async throws {
        try await realm.kinit("alice", password: "secret", cache: cache, options: ["-l", "60s", "-f"])
        let list = try await realm.klist(cache: cache)
        #expect(list.principal.description == "alice@EXAMPLE.TEST")
        let ticket = try #require(list.ticketGrantingTicket)
        #expect(ticket.isForwardable)
        // kinit requests the end by its own clock, shortly before the KDC reads its clock.
        let lifetime = ticket.times.expires.timeIntervalSince(ticket.times.authenticated)
        #expect((1...60).contains(lifetime), "\(lifetime)")
        #expect(try await realm.kvno("HTTP/localhost", cache: cache) == 1)
        #expect(try await realm.klist(cache: cache).credentials.map(\.server.description).last == "HTTP/localhost@EXAMPLE.TEST")
    }

    @Test func `kinit gets a ticket with a keytab`() async throws {
        try await realm.kinit("HTTP/localhost", keytab: nil, cache: cache)
        #expect(try await realm.klist(cache: cache).principal.description == "HTTP/localhost@EXAMPLE.TEST")
        let other = try await realm.keytab(for: "alice")
        try await realm.kinit("alice", keytab: other, cache: cache)
        #expect(try await realm.klist(cache: cache).principal.description == "alice@EXAMPLE.TEST")
    }

    @Test func `a failure is reported with the program's own message`() async throws {
        let wrong = await #expect(throws: KerberosTestingError.self) { try await realm.kinit("alice", password: "wrong", cache: cache) }
        #expect(wrong?.code == .commandFailed)
        #expect(wrong?.message.contains("Password incorrect") == true)
        #expect(wrong?.message.contains("wrong\n") == false)
        let missing = await #expect(throws: KerberosTestingError.self) { try await realm.kvno("HTTP/localhost", cache: cache) }
        #expect(missing?.message.contains("No credentials cache found") == true)
        #expect(await #expect(throws: KerberosError.self) { try await realm.klist(cache: cache) }?.code == .noCredentials)
        let refused = await #expect(throws: KerberosTestingError.self) { try await realm.curl("http://127.0.0.1:1/", cache: cache) }
        #expect(refused?.code == .commandFailed)
    }

    @Test func `a program that hangs is killed at its deadline`() async throws {
        let error = await #expect(throws: KerberosTestingError.self) {
            try await realm.run("sleep", ["600"], deadline: .seconds(5))
        }
        #expect(error?.code == .commandFailed)
        #expect(
            error?.message.hasSuffix("sleep 600 did not exit within 5.0 seconds and was killed.") == true,
            "\(String(describing: error))"
        )
        #expect(!visibleArguments(of: realm.directory).contains { $0.contains("sleep\0600") })
    }

    @Test(arguments: [false, true])
    func `curl authenticates over HTTP and HTTPS`(usesTLS: Bool) async throws {
        try await realm.kinit("alice", password: "secret", cache: cache)
        try await withProtectedWebServer(realm: realm, .init(usesTLS: usesTLS)) { server in
            let trust = usesTLS ? ["--cacert", server.certificatePath] : []
            let reply = try await realm.curl("\(server.url)/hello", cache: cache, options: trust)
            #expect(reply.status == 200)
            #expect(reply.version == "1.1")
            #expect(reply.body == "Hello alice@EXAMPLE.TEST\n")
            #expect(reply["WWW-Authenticate"].count == 1)
            #expect(reply["www-authenticate"].first?.hasPrefix("Negotiate ") == true)
            let anonymous = try await realm.curl("\(server.url)/hello", cache: "FILE:/nonexistent", options: trust)
            #expect(anonymous.status == 401)
            #expect(anonymous["WWW-Authenticate"] == ["Negotiate"])
        }
    }

    @Test func `programs and clients write to the realm's trace`() async throws {
        try await realm.kinit("alice", password: "secret", cache: cache)
        #expect(try realm.trace().contains("Getting initial credentials for alice@EXAMPLE.TEST"))
        let service = try Principal("HTTP/localhost@EXAMPLE.TEST")
        _ = try await realm.makeClient().serviceTicket(for: service, in: .init(rawValue: cache))
        let trace = try realm.trace()
        #expect(trace.contains("alice@EXAMPLE.TEST -> HTTP/localhost@EXAMPLE.TEST"))
        #expect(!trace.contains("secret"))
    }

    @Test func `a program with its own KRB5_TRACE does not write to the realm's trace`() async throws {
        let path = "\(realm.directory)/own-trace"
        _ = try await realm.run("kinit", ["nobody-else"], environment: ["KRB5_TRACE": path])
        #expect(try String(contentsOfFile: path, encoding: .utf8).contains("nobody-else"))
        #expect(try !realm.trace().contains("nobody-else"))
    }
}
