import AsyncHTTPClient
import HTTPNegotiate
import NIOCore
import NIOHTTP1
import NegotiateAsyncHTTPClient
import TestSupport
import Testing

/// Broken responses, unknown hosts and invalid URLs.
@Suite(.timeLimit(.minutes(5))) struct FaultTests {
    @Test(arguments: [false, true]) func `a truncated response head is an error`(onSecondLeg: Bool) async throws {
        let reply = ScriptedServer.Reply.raw("HTTP/1.1 200 OK\r\nContent-Le")
        let script: ScriptedServer.Script = { $0.field("Authorization") == nil && onSecondLeg ? .challenge : reply }
        try await withServer(extension: ScriptedExtension(), script: script) { server, client in
            let error = await #expect(throws: HTTPTransportError.self) { try await client.execute(server.request()) }
            #expect(error?.code == .connectionClosed)
            #expect(server.requests.count == (onSecondLeg ? 2 : 1))
        }
    }

    @Test func `a host without an address is not found`() async throws {
        // The resolver itself rejects a label of more than 63 characters, so no query is sent.
        let configuration = loopback { $0.connections.dnsOverride = ["a.localhost": String(repeating: "a", count: 64) + ".test"] }
        try await NegotiatingHTTPClient.withClient(extension: ScriptedExtension(), configuration: configuration) { client in
            let error = await #expect(throws: HTTPTransportError.self) {
                try await client.execute(HTTPClientRequest(url: "http://a.localhost/"))
            }
            #expect(error?.code == .hostNotFound)
        }
    }

    /// These texts cannot be converted to a `URL`.
    @Test(arguments: ["", "http://a test/"]) func `a request with an invalid URL is not sent`(url: String) async throws {
        try await NegotiatingHTTPClient.withClient(extension: ScriptedExtension(), configuration: loopback()) { client in
            let error = await #expect(throws: AuthorizationError.self) { try await client.execute(HTTPClientRequest(url: url)) }
            #expect(error?.code == .invalidURL)
        }
    }

    @Test func `reading a truncated response body fails`() async throws {
        let head = "HTTP/1.1 200 OK\r\nContent-Length: 100\r\nWWW-Authenticate: \(negotiate("final"))\r\n\r\nnot all"
        let script: ScriptedServer.Script = { $0.field("Authorization") == nil ? .challenge : .raw(head) }
        try await withServer(extension: ScriptedExtension(), script: script) { server, client in
            let response = try await client.execute(server.request())
            #expect(response.status == .ok)
            await #expect(throws: (any Error).self) { try await response.body.collect(upTo: 1000) }
        }
    }
}
