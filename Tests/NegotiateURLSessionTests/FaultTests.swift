import Foundation
import FoundationNetworking
import HTTPNegotiate
import NegotiateURLSession
import TestSupport
import Testing

/// Faults of a server. A truncated response head is not among them because FoundationNetworking 6.3 traps on it.
@Suite(.timeLimit(.minutes(5))) struct FaultTests {
    @Test(arguments: [false, true]) func `a truncated response body is an error`(onSecondLeg: Bool) async throws {
        let head = "HTTP/1.1 200 OK\r\nContent-Length: 100\r\nWWW-Authenticate: \(negotiate("final"))\r\n\r\nnot all"
        let script: ScriptedServer.Script = { $0.field("Authorization") == nil && onSecondLeg ? .challenge : .raw(head) }
        try await withServer(script: script) { server, session in
            let error = await #expect(throws: HTTPTransportError.self) { try await session.send("GET", server.url()) }
            #expect(error?.code == .connectionClosed)
            #expect(error?.message.contains("a.localhost") == true)
            #expect(error?.cause is URLError)
            #expect(server.requests.count == (onSecondLeg ? 2 : 1))
        }
    }

    @Test func `a response body that stops times out after the template's timeout`() async throws {
        let configuration = settings { $0.session.timeoutIntervalForRequest = 1 }
        let head = "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nnot all"
        try await withServer(configuration: configuration, script: { _ in .partial(head) }) { server, session in
            let error = await #expect(throws: HTTPTransportError.self) { try await session.send("GET", server.url()) }
            #expect(error?.code == .timedOut)
        }
    }

    @Test func `URLSession reports an unknown host as not found`() async throws {
        let session = NegotiatingURLSession(extension: try ScriptedExtension(), unboundTLS: .allowed, configuration: settings())
        // The top-level domain .invalid does not exist (RFC 6761 section 6.4).
        let error = await #expect(throws: HTTPTransportError.self) { try await session.send("GET", "http://name.invalid/") }
        #expect(error?.code == .hostNotFound)
    }
}
