import AsyncHTTPClient
import HTTPNegotiate
import NIOCore
import NIOHTTP1
import NIOHTTP2
import NegotiateAsyncHTTPClient
import Synchronization
import TestSupport
import Testing

/// HTTP/2 servers that refuse requests or close connections: which requests are repeated, and which error the caller gets.
@Suite(.timeLimit(.minutes(5))) struct HTTP2FaultTests {
    /// Answers the requests with these numbers with the given replies, and all others with a page.
    private static func script(_ replies: [Int: HTTP2Server.Reply]) -> HTTP2Server.Script {
        let count = Mutex(0)
        return { _ in
            let number = count.withLock { count in
                count += 1
                return count
            }
            return replies[number] ?? .status(200)
        }
    }

    private func request(_ url: String, _ method: HTTPMethod) -> HTTPClientRequest {
        var request = HTTPClientRequest(url: url)
        request.method = method
        if method == .POST { request.body = .bytes(ByteBuffer(string: "whole")) }
        return request
    }

    private func sso() throws -> ScriptedExtension { try ScriptedExtension() }

    @Test(arguments: [HTTPMethod.GET, .POST], [HTTP2Server.Reply.reset(.refusedStream), .goAway(.noError)])
    func `a request that the HTTP/2 server has not processed is repeated`(method: HTTPMethod, reply: HTTP2Server.Reply) async throws {
        try await withHTTP2Server(extension: sso(), script: Self.script([2: reply])) { server, url, client in
            for _ in 1...2 {
                let response = try await client.execute(request(url, method))
                #expect(response.status == .ok)
            }
            #expect(server.requests.map(\.bodySize) == Array(repeating: method == .POST ? 5 : 0, count: 3))
        }
    }

    @Test(arguments: [HTTPMethod.GET, .POST], [HTTP2Server.Reply.close, .goAway(.noError, isProcessed: true)])
    func `a request over a reused connection that closes is repeated if it is idempotent`(
        method: HTTPMethod,
        reply: HTTP2Server.Reply
    ) async throws {
        try await withHTTP2Server(extension: sso(), script: Self.script([2: reply])) { server, url, client in
            _ = try await client.execute(request(url, method))
            if method == .GET {
                let response = try await client.execute(request(url, method))
                #expect(response.status == .ok)
            } else {
                let error = await #expect(throws: HTTPTransportError.self) { try await client.execute(request(url, method)) }
                #expect(error?.code == .connectionClosed)
            }
            #expect(server.requests.count == (method == .GET ? 3 : 2))
        }
    }

    struct Fault: Sendable, CustomTestStringConvertible {
        let reply: HTTP2Server.Reply
        let text: String
        var requests = 1
        var testDescription: String { text }
        /// A given client hides GOAWAY frames.
        var isSeenByGivenClient: Bool { if case .goAway = reply { false } else { true } }
    }

    static let faults = [
        Fault(reply: .reset(.refusedStream), text: "refused to process the request (HTTP/2 error REFUSED_STREAM)", requests: 3),
        Fault(reply: .reset(.internalError), text: "ended the request before its response was complete (HTTP/2 error INTERNAL_ERROR)"),
        Fault(reply: .reset(.cancel), text: "ended the request before its response was complete (HTTP/2 error CANCEL)"),
        Fault(reply: .goAway(.enhanceYourCalm), text: "closed the connection before its response was complete (HTTP/2 error ENHANCE_"),
        Fault(reply: .goAway(.protocolError, isProcessed: true), text: "(HTTP/2 error PROTOCOL_ERROR)"),
        Fault(reply: .close, text: "closed the connection before its response was complete"),
    ]

    @Test(arguments: faults.map { ($0, false) } + faults.filter(\.isSeenByGivenClient).map { ($0, true) })
    func `an HTTP/2 failure is reported in one sentence`(fault: Fault, isGiven: Bool) async throws {
        try await withHTTP2Server(extension: sso(), script: { _ in fault.reply }) { server, url, own in
            let check: (NegotiatingHTTPClient) async throws -> Void = { client in
                let error = await #expect(throws: HTTPTransportError.self) { try await client.execute(request(url, .POST)) }
                #expect(error?.code == .connectionClosed)
                let message = try #require(error?.message)
                #expect(message.hasPrefix("https://a.localhost:"), "\(message)")
                #expect(message.contains(fault.text), "\(message)")
                #expect(!message.contains("NIO") && !message.contains("Error("), "\(message)")
                #expect(server.requests.count == fault.requests)
            }
            if isGiven { try await server.withGivenClient(extension: sso(), check) } else { try await check(own) }
        }
    }

    /// The first request is refused over a new connection, the third over one that was used before.
    @Test(arguments: [HTTPMethod.GET, .POST]) func `a given client repeats a request that the HTTP/2 server refused`(
        method: HTTPMethod
    ) async throws {
        let script = Self.script([1: .reset(.refusedStream), 3: .reset(.refusedStream)])
        try await withHTTP2Server(extension: sso(), script: script) { server, url, _ in
            try await server.withGivenClient(extension: sso()) { client in
                for _ in 1...2 {
                    let response = try await client.execute(request(url, method))
                    #expect(response.status == .ok)
                }
            }
            #expect(server.requests.map(\.bodySize) == Array(repeating: method == .POST ? 5 : 0, count: 4))
        }
    }

    @Test(arguments: [HTTPMethod.GET, .POST]) func `a given client repeats an idempotent request over a reused connection that closes`(
        method: HTTPMethod
    ) async throws {
        try await withHTTP2Server(extension: sso(), script: Self.script([2: .close])) { server, url, _ in
            try await server.withGivenClient(extension: sso()) { client in
                _ = try await client.execute(request(url, method))
                if method == .GET {
                    let response = try await client.execute(request(url, method))
                    #expect(response.status == .ok)
                } else {
                    let error = await #expect(throws: HTTPTransportError.self) { try await client.execute(request(url, method)) }
                    #expect(error?.code == .connectionClosed)
                }
            }
            #expect(server.requests.count == (method == .GET ? 3 : 2))
        }
    }

    /// nginx replies like this to a field that exceeds its limit.
    @Test(arguments: [HTTP2Server.Reply.goAway(.enhanceYourCalm), .goAway(.protocolError, isProcessed: true), .close])
    func `an error after a large token names the token's size as a possible cause`(reply: HTTP2Server.Reply) async throws {
        let sso = try ScriptedExtension { try ScriptedExtension.grant(for: $0, token: Array(repeating: 7, count: 9_000)) }
        let script: HTTP2Server.Script = { $0.isAuthorized ? reply : .status(401, [("WWW-Authenticate", "Negotiate")]) }
        try await withHTTP2Server(extension: sso, script: script) { _, url, client in
            let error = await #expect(throws: HTTPTransportError.self) { try await client.execute(request(url, .GET)) }
            let message = try #require(error?.message)
            #expect(message.contains("field Authorization has 12010 bytes, which may be more than the server accepts"), "\(message)")
            #expect(message.contains("large_client_header_buffers"), "\(message)")
        }
    }
}
