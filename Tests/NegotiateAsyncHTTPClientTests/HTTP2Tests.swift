import AsyncHTTPClient
import HTTPNegotiate
import KerberosTesting
import NIOCore
import NIOHTTP1
import NIOSSL
import NegotiateAsyncHTTPClient
import TestSupport
import Testing

/// Requests over HTTP/2, and when the client uses HTTP/1.1 instead.
@Suite(.timeLimit(.minutes(5))) struct HTTP2Tests {
    private static let final: HTTP2Server.Reply = .status(200, [("WWW-Authenticate", negotiate("final"))])

    /// Challenges requests without a token, and accepts every token.
    private static let protected: HTTP2Server.Script = { $0.isAuthorized ? final : .status(401, [("WWW-Authenticate", "Negotiate")]) }

    @Test func `over HTTP/2 the token is never indexed by header compression`() async throws {
        try await withHTTP2Server(extension: ScriptedExtension(), script: Self.protected) { server, url, client in
            let answer = try await client.negotiate(HTTPClientRequest(url: url))
            #expect(answer.delivery == .authenticated)
            #expect(server.requests.map(\.version) == [2, 2])
            #expect(server.requests.last?.isSensitive == true)
        }
    }

    /// NIO sends no head whose encoded size exceeds 16 KiB; the base64 text of these tokens takes 6.5 bits a character.
    @Test(arguments: [(11_000, 2), (16_000, 1), (24_000, 1), (60_000, 1)]) func `a long token is sent over HTTP/1.1`(
        size: Int,
        version: Int
    )
        async throws
    {
        let sso = try ScriptedExtension { request in
            guard case .headers(let grant) = try ScriptedExtension.grant(for: request) else { return .notHandled([]) }
            let headers = NegotiateCredentials(token: Array(repeating: 7, count: size)).headers
            return .headers(AuthorizationGrant(headers: headers, identity: grant.identity, exchange: grant.exchange))
        }
        try await withHTTP2Server(extension: sso, script: Self.protected) { server, url, client in
            let answer = try await client.negotiate(HTTPClientRequest(url: url))
            #expect(answer.delivery == .authenticated)
            #expect(server.requests.map(\.version) == [2, version])
        }
    }

    @Test(arguments: [false, true]) func `a server that requires HTTP/1.1 gets the request over HTTP/1.1`(isOnlyForTickets: Bool)
        async throws
    {
        let script: HTTP2Server.Script = { request in
            request.version == 2 && request.isAuthorized == isOnlyForTickets ? .requireHTTP1 : Self.protected(request)
        }
        try await withHTTP2Server(extension: ScriptedExtension(), script: script) { server, url, client in
            var request = HTTPClientRequest(url: url)
            request.method = .POST
            request.body = .bytes(ByteBuffer(string: "whole"))
            let answer = try await client.negotiate(request)
            #expect(answer.delivery == .authenticated)
            #expect(server.requests.map(\.version) == (isOnlyForTickets ? [2, 2, 1] : [2, 1, 1]))
            #expect(server.requests.map(\.bodySize) == [5, 5, 5])
        }
    }

    /// For an uncovered host the body is not buffered, and sending half of it would be worse than an error.
    @Test func `a consumed request body is not sent again over HTTP/1.1`() async throws {
        let sso = try ScriptedExtension(change: { $0.hosts = [] })
        try await withHTTP2Server(extension: sso, script: { $0.version == 2 ? .requireHTTP1 : .status(200) }) { server, url, client in
            var request = HTTPClientRequest(url: url)
            request.method = .POST
            request.body = .stream(OnceOnly(["one ", "two"]), length: .unknown)
            let error = await #expect(throws: AuthorizationError.self) { try await client.execute(request) }
            #expect(error?.code == .bodyNotReplayable)
            #expect(server.requests.map(\.version) == [2])
        }
    }

    /// The encoded size decides: a tilde takes 13 bits, an `a` takes 5.
    @Test(arguments: [("~", 8_000, 2), ("~", 12_000, 1), ("a", 20_000, 2), ("a", 40_000, 1)])
    func `a large request head is sent over HTTP/1.1 only if it does not fit into a frame`(character: String, count: Int, version: Int)
        async throws
    {
        let value = String(repeating: character, count: count)
        try await withHTTP2Server(extension: ScriptedExtension(), script: Self.protected) { server, url, client in
            var request = HTTPClientRequest(url: url)
            request.headers.add(name: "X-Large", value: value)
            let answer = try await client.negotiate(request)
            #expect(answer.delivery == .authenticated)
            #expect(server.requests.map(\.version) == [version, version])
            // The client's connections still work.
            let plain = try await client.negotiate(HTTPClientRequest(url: url))
            #expect(plain.delivery == .authenticated)
        }
    }

    /// The size of a field that AsyncHTTPClient adds is not known beforehand.
    @Test func `a request head that AsyncHTTPClient enlarges is sent over HTTP/1.1 if necessary`() async throws {
        let sso = try ScriptedExtension(change: { $0.hosts = [] })
        try await withHTTP2Server(extension: sso, script: { _ in .status(200) }) { server, url, client in
            // The client allows 15,360 bytes; its count includes the path once, but not the authority.
            for count in stride(from: 15_200, through: 16_500, by: 100) {
                var request = HTTPClientRequest(url: url)
                request.headers.add(name: "X-Large", value: String(repeating: "&", count: count))
                let response = try await client.execute(request)
                #expect(response.status == .ok)
            }
            #expect(Set(server.requests.map(\.version)) == [1, 2])
        }
    }

    @Test(arguments: [false, true]) func `a given client reports a request head that is too large for HTTP/2`(isHTTP1Only: Bool)
        async throws
    {
        try await withHTTP2Server(extension: ScriptedExtension(), script: Self.protected) { server, url, _ in
            let sso = try ScriptedExtension { try ScriptedExtension.grant(for: $0, token: Array(repeating: 7, count: 24_000)) }
            try await server.withGivenClient(extension: sso, isHTTP1Only: isHTTP1Only) { client in
                do {
                    let answer = try await client.negotiate(HTTPClientRequest(url: url))
                    #expect(isHTTP1Only && answer.delivery == .authenticated)
                } catch let error as HTTPTransportError {
                    #expect(!isHTTP1Only && error.code == .headTooLarge)
                    #expect(error.message.contains("is too large for HTTP/2"))
                }
            }
            #expect(server.requests.map(\.version) == (isHTTP1Only ? [1, 1] : [2]))
        }
    }
}
