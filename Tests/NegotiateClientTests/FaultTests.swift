import HTTPNegotiate
import TestSupport
import Testing

/// Broken responses, unreachable servers and invalid URLs.
@Suite(.timeLimit(.minutes(5))) struct FaultTests {
    struct Fault: Sendable, CustomTestStringConvertible {
        let reply: ScriptedServer.Reply
        let code: HTTPTransportError.Code
        let testDescription: String

        init(_ description: String, _ reply: ScriptedServer.Reply, _ code: HTTPTransportError.Code) {
            (testDescription, self.reply, self.code) = (description, reply, code)
        }
    }

    /// Every fault on the first and on the second leg.
    static let faults = [
        Fault("the connection is dropped", .drop, .connectionClosed),
        Fault("the answer is empty", .raw(""), .connectionClosed),
        Fault("the answer is not HTTP", .raw("SSH-2.0-OpenSSH_9.2\r\n"), .malformedResponse),
        Fault("a field has no colon", .raw("HTTP/1.1 200 OK\r\nnonsense\r\n\r\n"), .malformedResponse),
        Fault("the status is invalid", .raw("HTTP/1.1 20 OK\r\nContent-Length: 0\r\n\r\n"), .malformedResponse),
    ].flatMap { [($0, false), ($0, true)] }

    @Test(arguments: ClientLibrary.allCases, faults)
    func `a broken response is an error with its cause`(library: ClientLibrary, on leg: (fault: Fault, isSecond: Bool)) async throws {
        let script: ScriptedServer.Script = { $0.field("Authorization") == nil && leg.isSecond ? .challenge : leg.fault.reply }
        try await library.withServer(script: script) { server, client in
            let error = await #expect(throws: HTTPTransportError.self) { try await client.send(server.request()) }
            #expect(error?.code == leg.fault.code)
            #expect(error?.message.contains("a.localhost") == true)
            #expect(error?.cause != nil)
            // A given client sends the token over a reused connection, which the server may close at any time.
            let mayRepeat = library == .givenHTTPClient && leg.isSecond && leg.fault.code == .connectionClosed
            #expect(server.requests.count == (mayRepeat ? 4 : leg.isSecond ? 2 : 1))
        }
    }

    @Test(arguments: ClientLibrary.allCases) func `interim responses are skipped`(library: ClientLibrary) async throws {
        let interim = "HTTP/1.1 103 Early Hints\r\nLink: </style.css>\r\n\r\nHTTP/1.1 100 Continue\r\n\r\n"
        let head = "HTTP/1.1 401 No\r\nWWW-Authenticate: Negotiate\r\nContent-Length: 0\r\n\r\n"
        let script: ScriptedServer.Script = { $0.field("Authorization") == nil ? .partial(interim + head) : .page() }
        try await library.withServer(script: script) { server, client in
            let reply = try await client.send(server.request())
            #expect(reply.delivery == .authenticated)
            #expect(server.requests.count == 2)
        }
    }

    @Test(arguments: ClientLibrary.allCases) func `a closed port is reported as a refused connection`(library: ClientLibrary) async throws {
        let port = try ClosedPort()
        let url = "http://a.localhost:\(port.number)/"
        try await library.withClient(extension: ScriptedExtension()) { client in
            let error = await #expect(throws: HTTPTransportError.self) { try await client.send(ClientRequest(url: url)) }
            #expect(error?.code == .connectionRefused)
        }
        withExtendedLifetime(port) {}
    }

    @Test(arguments: ClientLibrary.allCases) func `a server without TLS is reported as a TLS error`(library: ClientLibrary) async throws {
        try await ScriptedServer.run({ _ in .silence }, greeting: "220 mail.test ready\r\n") { server in
            try await library.withClient(extension: ScriptedExtension()) { client in
                let request = ClientRequest(url: "https://a.localhost:\(server.port)/")
                let error = await #expect(throws: HTTPTransportError.self) { try await client.send(request) }
                #expect(error?.code == .tls)
            }
        }
    }

    @Test(
        arguments: ClientLibrary.allCases,
        ["relative", "ftp://a.localhost/", "file:///etc/passwd", "http+unix://%2Frun%2Fx/", "http://a.localhost:0/", "http:///x"]
    )
    func `a request without a usable HTTP URL is not sent`(library: ClientLibrary, url: String) async throws {
        try await library.withClient(extension: ScriptedExtension()) { client in
            let error = await #expect(throws: AuthorizationError.self) { try await client.send(ClientRequest(url: url)) }
            #expect(error?.code == .invalidURL)
        }
    }
}
