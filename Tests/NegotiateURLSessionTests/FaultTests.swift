import Foundation
import FoundationNetworking
import HTTPNegotiate
import NegotiateURLSession
import TestSupport
import Testing

/// A server that closes in the middle of a response's head is not among the faults: FoundationNetworking 6.3 traps on it.
@Suite(.timeLimit(.minutes(1))) struct FaultTests {
    /// Where a call can be stuck.
    enum Phase: CaseIterable, Sendable {
        case firstLeg, credentials, drain, secondLeg

        var script: ScriptedServer.Script {
            switch self {
            case .firstLeg: { _ in .silence }
            case .credentials: ScriptedServer.protected
            case .drain: { _ in .partial("HTTP/1.1 401 No\r\nWWW-Authenticate: Negotiate\r\nContent-Length: 100\r\n\r\nnot all") }
            case .secondLeg: { $0.field("Authorization") == nil ? .challenge : .silence }
            }
        }

        /// An extension that tells when it was asked, and then answers or hangs.
        func makeExtension(asked: AsyncStream<Void>.Continuation) throws -> ScriptedExtension {
            try scriptedExtension(answer: { request in
                asked.yield()
                guard self == .credentials else { return try ScriptedExtension.grant(for: request) }
                for await _ in AsyncStream<Void>.makeStream().stream {}
                throw CancellationError()
            })
        }
    }

    @Test(arguments: Phase.allCases) func `the deadline covers everything`(phase: Phase) async throws {
        let (_, continuation) = AsyncStream<Void>.makeStream()
        let sso = try phase.makeExtension(asked: continuation)
        let configuration = settings { $0.timeout = .milliseconds(200) }
        try await withServer(extension: sso, configuration: configuration, script: phase.script) { server, session in
            let error = await #expect(throws: AuthorizationError.self) { try await session.send("GET", server.url()) }
            #expect(error?.code == .timedOut)
        }
    }

    @Test(arguments: Phase.allCases) func `a cancelled call ends, and its connection with it`(phase: Phase) async throws {
        let (asked, continuation) = AsyncStream<Void>.makeStream()
        let sso = try phase.makeExtension(asked: continuation)
        try await withServer(extension: sso, script: phase.script) { server, session in
            let call = Task { try await session.send("GET", server.url()) }
            var events = server.events.makeAsyncIterator()
            #expect(await events.next() == .request(connection: 1))
            switch phase {
            case .firstLeg: break
            case .credentials, .drain: for await _ in asked { break }
            case .secondLeg: #expect(await events.next() == .request(connection: 2))
            }
            call.cancel()
            await #expect(throws: CancellationError.self) { try await call.value }
            // With the credentials outstanding the response was complete, and its connection is free for the next request.
            if phase != .credentials { #expect(await events.next() == .closed(connection: phase == .secondLeg ? 2 : 1)) }
        }
    }

    @Test func `a call that is cancelled before it begins sends nothing`() async throws {
        try await withServer(script: { _ in .page() }) { server, session in
            let call = Task {
                for await _ in AsyncStream<Void>.makeStream().stream {}
                return try await session.send("GET", server.url())
            }
            call.cancel()
            await #expect(throws: CancellationError.self) { try await call.value }
            #expect(server.requests.isEmpty)
        }
    }

    struct Fault: Sendable, CustomTestStringConvertible {
        let reply: ScriptedServer.Reply
        let code: HTTPTransportError.Code
        let testDescription: String

        init(_ description: String, _ reply: ScriptedServer.Reply, _ code: HTTPTransportError.Code) {
            (testDescription, self.reply, self.code) = (description, reply, code)
        }
    }

    static let faults = [
        Fault("the connection is dropped", .drop, .connectionClosed),
        Fault("the answer is empty", .raw(""), .connectionClosed),
        Fault("the answer is not HTTP", .raw("SSH-2.0-OpenSSH_9.2\r\n"), .malformedResponse),
        Fault("a field has no colon", .raw("HTTP/1.1 200 OK\r\nnonsense\r\n\r\n"), .malformedResponse),
        Fault("the status is none", .raw("HTTP/1.1 20 OK\r\nContent-Length: 0\r\n\r\n"), .malformedResponse),
        Fault(
            "the body is cut off",
            .raw("HTTP/1.1 200 OK\r\nContent-Length: 100\r\nWWW-Authenticate: \(negotiate("final"))\r\n\r\nnot all"),
            .connectionClosed
        ),
    ]

    @Test(arguments: faults, [false, true]) func `a broken answer is an error`(fault: Fault, onSecondLeg: Bool) async throws {
        let script: ScriptedServer.Script = { $0.field("Authorization") == nil && onSecondLeg ? .challenge : fault.reply }
        try await withServer(script: script) { server, session in
            let error = await #expect(throws: HTTPTransportError.self) { try await session.send("GET", server.url()) }
            #expect(error?.code == fault.code)
            #expect(error?.message.contains("a.localhost") == true)
            #expect(error?.cause is URLError)
            #expect(server.requests.count == (onSecondLeg ? 2 : 1))
        }
    }

    @Test func `a body that stops coming times out as the template says`() async throws {
        let configuration = settings { $0.session.timeoutIntervalForRequest = 1 }
        let head = "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nnot all"
        try await withServer(configuration: configuration, script: { _ in .partial(head) }) { server, session in
            let error = await #expect(throws: HTTPTransportError.self) { try await session.send("GET", server.url()) }
            #expect(error?.code == .timedOut)
        }
    }

    @Test func `interim responses are skipped`() async throws {
        let interim = "HTTP/1.1 103 Early Hints\r\nLink: </style.css>\r\n\r\nHTTP/1.1 100 Continue\r\n\r\n"
        let head = "HTTP/1.1 401 No\r\nWWW-Authenticate: Negotiate\r\nContent-Length: 0\r\n\r\n"
        try await withServer(script: { $0.field("Authorization") == nil ? .partial(interim + head) : .page() }) { server, session in
            let reply = try await session.send("GET", server.url())
            #expect(reply.delivery == .authenticated)
            #expect(server.requests.count == 2)
        }
    }

    @Test func `a port where nobody listens is refused`() async throws {
        let url = try await ScriptedServer.run({ _ in .silence }) { $0.url() }
        let session = NegotiatingURLSession(extension: try scriptedExtension(), unboundTLS: .allowed, configuration: settings())
        let error = await #expect(throws: HTTPTransportError.self) { try await session.send("GET", url) }
        #expect(error?.code == .connectionRefused)
    }

    @Test func `a name without an address is not found`() async throws {
        let session = NegotiatingURLSession(extension: try scriptedExtension(), unboundTLS: .allowed, configuration: settings())
        // No name ends so (RFC 6761 section 6.4).
        let error = await #expect(throws: HTTPTransportError.self) { try await session.send("GET", "http://name.invalid/") }
        #expect(error?.code == .hostNotFound)
    }

    @Test func `a server without TLS is named so`() async throws {
        try await ScriptedServer.run({ _ in .silence }, greeting: "220 mail.test ready\r\n") { server in
            let session = NegotiatingURLSession(extension: try scriptedExtension(), unboundTLS: .allowed, configuration: settings())
            let error = await #expect(throws: HTTPTransportError.self) {
                try await session.send("GET", "https://a.localhost:\(server.port)/")
            }
            #expect(error?.code == .tls)
        }
    }

    @Test(arguments: [
        "relative", "ftp://a.localhost/", "file:///etc/passwd", "http+unix://%2Frun%2Fx/", "http://a.localhost:0/", "http:///x",
    ])
    func `a URL that is none is not sent`(url: String) async throws {
        let session = NegotiatingURLSession(extension: try scriptedExtension(), unboundTLS: .allowed, configuration: settings())
        let error = await #expect(throws: AuthorizationError.self) { try await session.send("GET", url) }
        #expect(error?.code == .invalidURL)
    }
}
