import Foundation
import Kerberos
import KerberosTesting
import KerberosTestingTraits
import TestSupport
import Testing

/// Responses of ``AcceptorServer`` to curl.
@Suite(.testRealm(users: ["alice": "secret"], services: ["HTTP/localhost"])) struct AcceptorServerTests {
    let realm: TestRealm

    init() throws {
        realm = try #require(TestRealm.current)
    }

    @Test(arguments: [nil] + ServerCertificate.all.map(Optional.some))
    func `the acceptor server greets curl over HTTP and HTTPS`(certificate: ServerCertificate?) async throws {
        var identity: ServerIdentity?
        if let certificate { identity = try await realm.makeServerIdentity(certificate) }
        let cache = try await realm.signIn()
        try await withAcceptorServer(realm: realm, .init(identity: identity)) { server in
            let trust = identity.map { ["--cacert", $0.certificatePath] } ?? []
            let reply = try await realm.curl(trust + ["--negotiate", "-u", ":", "\(server.url)/page?q=1"], cache: cache)
            #expect(reply.output == "Hello alice@EXAMPLE.TEST\n", "\(reply.errors)")
            let request = try #require(server.requests.last)
            #expect(server.requests.count == 1, "curl sends a token at once")
            #expect((request.connection, request.method, request.path) == (1, "GET", "/page?q=1"))
            #expect(request.hasAuthorization)
            #expect(request.initiator == "alice@EXAMPLE.TEST")
            #expect(request.flags.contains(.mutualAuthentication))
            #expect(request.flags.isDisjoint(with: [.channelBound, .delegation]))
            #expect((request.bodyBytes, request.status) == (0, 200))
        }
    }

    @Test func `the acceptor server challenges a request without a token`() async throws {
        try await withAcceptorServer(realm: realm) { server in
            let reply = try await realm.curl(["-i", "-H", "Authorization: Basic YTpi", server.url, "--next", "-si", "-I", server.url])
            #expect(reply.output.hasPrefix("HTTP/1.1 401 Unauthorized\r\n"))
            #expect(reply.output.components(separatedBy: "WWW-Authenticate: Negotiate\r\n").count == 3)
            #expect(server.requests.map(\.method) == ["GET", "HEAD"])
            #expect(server.requests.map(\.hasAuthorization) == [true, false])
            #expect(server.requests.map(\.connection) == [1, 1])
            #expect(server.requests.allSatisfy { $0.initiator == nil && $0.refusal == nil && $0.status == 401 })
        }
    }

    @Test func `requests are recorded with the number of their connection`() async throws {
        try await withAcceptorServer(realm: realm) { server in
            for path in ["a", "b"] { _ = try await realm.curl(["\(server.url)/\(path)", "\(server.url)/\(path)"]) }
            _ = try await realm.curl(["-H", "Connection: close", "\(server.url)/c", "\(server.url)/c"])
            #expect(server.requests.map(\.connection) == [1, 1, 2, 2, 3, 4])
        }
    }

    @Test(arguments: ["QUJD", "***", ""]) func `an invalid token is rejected`(token: String) async throws {
        try await withAcceptorServer(realm: realm) { server in
            let reply = try await realm.curl(["-H", "Authorization: Negotiate \(token)", server.url])
            #expect(reply.output == "who are you?\n")
            #expect(server.requests.map(\.refusal?.code) == (token.isEmpty ? [nil] : [.invalidToken]))
        }
    }

    @Test func `the bytes of request bodies are counted`() async throws {
        let body = "\(realm.directory)/\(UUID().uuidString)"
        try Data(count: 1 << 20).write(to: URL(filePath: body))
        let cache = try await realm.signIn()
        try await withAcceptorServer(realm: realm) { server in
            let credentials = ["--negotiate", "-u", ":", "-H", "Content-Type: application/octet-stream", "--data-binary", "@\(body)"]
            for fields in [["-H", "Expect: 100-continue"], ["-H", "Expect:"], ["-H", "Transfer-Encoding: chunked"]] {
                let reply = try await realm.curl(fields + credentials + [server.url], cache: cache)
                #expect(reply.output == "Hello alice@EXAMPLE.TEST\n", "\(reply.errors)")
            }
            #expect(server.requests.map(\.bodyBytes) == [1 << 20, 1 << 20, 1 << 20])
        }
    }

    @Test func `a token of 64 KiB reaches the acceptor`() async throws {
        try await withAcceptorServer(realm: realm) { server in
            let reply = try await realm.send([UInt8](repeating: 0x41, count: 65_536), to: server)
            #expect(reply.output.contains("401 Unauthorized"))
            #expect(server.requests.map(\.refusal?.code) == [.invalidToken])
        }
    }

    @Test(arguments: [true, false]) func `a server sends Persistent-Auth only if later requests need no token`(isBound: Bool) async throws {
        let cache = try await realm.signIn()
        try await withAcceptorServer(realm: realm, .init(isConnectionBound: isBound)) { server in
            let first = ["-i", "--negotiate", "-u", ":", server.url]
            let reply = try await realm.curl(first + ["--next", "-si", server.url], cache: cache)
            #expect(reply.output.contains("Persistent-Auth: true") == isBound)
            #expect(server.requests.map(\.connection) == [1, 1])
            #expect(server.requests.map(\.hasAuthorization) == [true, false])
            #expect(server.requests.map(\.status) == [200, isBound ? 200 : 401])
            #expect(server.requests.last?.initiator == (isBound ? "alice@EXAMPLE.TEST" : nil))
        }
    }

    /// Each run of curl opens a connection of its own.
    @Test func `a bound connection does not authenticate another connection`() async throws {
        let cache = try await realm.signIn()
        try await withAcceptorServer(realm: realm, .init(isConnectionBound: true)) { server in
            _ = try await realm.curl(["--negotiate", "-u", ":", server.url], cache: cache)
            #expect(try await realm.curl([server.url]).output == "who are you?\n")
        }
    }

    @Test(arguments: [(["always"], true), (["none"], false)]) func `a delegated ticket is recorded in the request's flags`(
        how: [String],
        isSeen: Bool
    ) async throws {
        let cache = try await realm.signIn(options: ["-f"])
        try await withAcceptorServer(realm: realm) { server in
            let options = ["--delegation"] + how + ["--negotiate", "-u", ":"]
            _ = try await realm.curl(options + [server.url], cache: cache)
            #expect(server.requests.map { $0.flags.contains(.delegation) } == [isSeen])
        }
    }

    @Test func `the server closes a connection whose client requests it`() async throws {
        try await withAcceptorServer(realm: realm) { server in
            try await withClientConnection(port: server.port) { connection in
                let first = try await connection.get()
                #expect(first?["Connection"] == [] && first?.body == "who are you?\n")
                let last = try await connection.get(fields: ["Connection": "close"])
                #expect(last?["Connection"] == ["close"])
                let isOver = try await connection.ends()
                #expect(isOver)
            }
        }
    }

    /// The client keeps its connection open, so the server has to close it.
    @Test func `the end of the scope closes the port and open connections`() async throws {
        let (ports, port) = AsyncStream.makeStream(of: Int.self)
        let (answers, answered) = AsyncStream.makeStream(of: Int?.self)
        async let isEnded = Self.keepsItsConnection(ports, answered)
        let url = try await withAcceptorServer(realm: realm) { server in
            port.yield(server.port)
            for await status in answers { #expect(status == 401) }
            return server.url
        }
        #expect(try await isEnded)
        // A process that is being started may have the socket until it executes its program.
        try await eventually { try await realm.curl([url]).exitStatus == 7 }
    }

    /// Reports the status of one response, and returns whether the server closes the connection.
    private static func keepsItsConnection(_ ports: AsyncStream<Int>, _ answered: AsyncStream<Int?>.Continuation) async throws -> Bool {
        defer { answered.finish() }
        var isEnded = false
        for await port in ports.prefix(1) {
            isEnded = try await withClientConnection(port: port) { connection in
                answered.yield(try await connection.get()?.status)
                answered.finish()
                return try await connection.ends()
            }
        }
        return isEnded
    }

    @Test func `an error of the closure is rethrown`() async throws {
        struct OwnError: Error {}
        await #expect(throws: OwnError.self) {
            try await withAcceptorServer(realm: realm) { _ in throw OwnError() }
        }
    }

    @Test func `concurrent requests are all served`() async throws {
        let cache = try await realm.signIn()
        try await withAcceptorServer(realm: realm) { server in
            let urls = Array(repeating: server.url, count: 24)
            let parallel = ["--no-progress-meter", "--parallel", "--parallel-immediate", "--parallel-max", "8"]
            let reply = try await realm.curl(parallel + ["--negotiate", "-u", ":"] + urls, cache: cache)
            #expect(reply.output == String(repeating: "Hello alice@EXAMPLE.TEST\n", count: 24), "\(reply.errors)")
            #expect(server.requests.count { $0.status == 200 } == 24)
            #expect(Set(server.requests.map(\.connection)).count > 1)
        }
    }
}

extension TestRealm {
    /// Sends a token. Passes it on standard input because other users can read the arguments of a process.
    func send(_ token: [UInt8], to server: AcceptorServer, path: String = "/") async throws -> CommandResult {
        try await curl(["-i", "-H", "@-", server.url + path], input: "Authorization: Negotiate \(Data(token).base64EncodedString())\n")
    }
}
