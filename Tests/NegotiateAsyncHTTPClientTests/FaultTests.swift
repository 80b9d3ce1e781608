import AsyncHTTPClient
import HTTPNegotiate
import NIOCore
import NIOHTTP1
import NegotiateAsyncHTTPClient
import TestSupport
import Testing

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
            try ScriptedExtension { request in
                asked.yield()
                guard self == .credentials else { return try ScriptedExtension.grant(for: request) }
                for await _ in AsyncStream<Void>.makeStream().stream {}
                throw CancellationError()
            }
        }
    }

    @Test(arguments: Phase.allCases) func theDeadlineCoversEverything(phase: Phase) async throws {
        let (_, continuation) = AsyncStream<Void>.makeStream()
        let sso = try phase.makeExtension(asked: continuation)
        try await withServer(extension: sso, script: phase.script) { server, client in
            let error = await #expect(throws: AuthorizationError.self) {
                try await client.execute(server.request(), timeout: .milliseconds(200))
            }
            #expect(error?.code == .timedOut)
        }
    }

    @Test(arguments: Phase.allCases) func aCancelledCallEnds(phase: Phase) async throws {
        let (asked, continuation) = AsyncStream<Void>.makeStream()
        let sso = try phase.makeExtension(asked: continuation)
        try await withServer(extension: sso, script: phase.script) { server, client in
            let call = Task { try await client.execute(server.request()) }
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
        Fault("the head is cut off", .raw("HTTP/1.1 200 OK\r\nContent-Le"), .connectionClosed),
        Fault("the answer is not HTTP", .raw("SSH-2.0-OpenSSH_9.2\r\n"), .malformedResponse),
        Fault("the answer is empty", .raw(""), .connectionClosed),
    ]

    @Test(arguments: faults, [false, true]) func aBrokenAnswerIsAnError(fault: Fault, onSecondLeg: Bool) async throws {
        let script: ScriptedServer.Script = { $0.field("Authorization") == nil && onSecondLeg ? .challenge : fault.reply }
        try await withServer(extension: ScriptedExtension(), script: script) { server, client in
            let error = await #expect(throws: HTTPTransportError.self) { try await client.execute(server.request()) }
            #expect(error?.code == fault.code)
            #expect(error?.message.contains("a.test") == true)
            #expect(error?.cause != nil)
            #expect(server.requests.count == (onSecondLeg ? 2 : 1))
        }
    }

    @Test func aPortWhereNobodyListensIsRefusedAtOnce() async throws {
        let url = try await ScriptedServer.run({ _ in .silence }) { $0.url() }
        try await NegotiatingHTTPClient.withClient(extension: ScriptedExtension(), configuration: loopback()) { client in
            let error = await #expect(throws: HTTPTransportError.self) { try await client.execute(HTTPClientRequest(url: url)) }
            #expect(error?.code == .connectionRefused)
        }
    }

    @Test func aNameWithoutAnAddressIsNotFound() async throws {
        var configuration = NegotiatingHTTPClient.Configuration()
        // A label of more than 63 characters is refused by the resolver itself: no query leaves.
        configuration.connections.dnsOverride = ["a.test": String(repeating: "a", count: 64) + ".test"]
        try await NegotiatingHTTPClient.withClient(extension: ScriptedExtension(), configuration: configuration) { client in
            let error = await #expect(throws: HTTPTransportError.self) {
                try await client.execute(HTTPClientRequest(url: "http://a.test/"))
            }
            #expect(error?.code == .hostNotFound)
        }
    }

    @Test func aServerWithoutTLSIsNamedSo() async throws {
        try await ScriptedServer.run({ _ in .silence }, greeting: "220 mail.test ready\r\n") { server in
            try await NegotiatingHTTPClient.withClient(extension: ScriptedExtension(), configuration: loopback()) { client in
                let request = HTTPClientRequest(url: "https://a.test:\(server.port)/")
                let error = await #expect(throws: HTTPTransportError.self) { try await client.execute(request) }
                #expect(error?.code == .tls)
            }
        }
    }

    @Test(arguments: ["", "a.test", "ftp://a.test/", "http://a test/", "http+unix://%2Frun%2Fx/", "http://a.test:0/"])
    func aURLThatIsNoneIsNotSent(url: String) async throws {
        try await NegotiatingHTTPClient.withClient(extension: ScriptedExtension(), configuration: loopback()) { client in
            let error = await #expect(throws: AuthorizationError.self) { try await client.execute(HTTPClientRequest(url: url)) }
            #expect(error?.code == .invalidURL)
        }
    }

    @Test func theBodyOfAResponseThatBreaksOffFailsWhereItIsRead() async throws {
        let head = "HTTP/1.1 200 OK\r\nContent-Length: 100\r\nWWW-Authenticate: \(negotiate("final"))\r\n\r\nnot all"
        let script: ScriptedServer.Script = { $0.field("Authorization") == nil ? .challenge : .raw(head) }
        try await withServer(extension: ScriptedExtension(), script: script) { server, client in
            let response = try await client.execute(server.request())
            #expect(response.status == .ok)
            await #expect(throws: (any Error).self) { try await response.body.collect(upTo: 1000) }
        }
    }
}
