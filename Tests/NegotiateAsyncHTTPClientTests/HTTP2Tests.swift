import AsyncHTTPClient
import HTTPNegotiate
import KerberosTesting
import NIOCore
import NIOHTTP1
import NIOSSL
import NegotiateAsyncHTTPClient
import TestSupport
import Testing

/// What is particular to HTTP/2: when it is left for HTTP/1.1, and what goes over it.
@Suite(.timeLimit(.minutes(5))) struct HTTP2Tests {
    private static let final: HTTP2Server.Reply = .status(200, [("WWW-Authenticate", negotiate("final"))])

    /// Challenges what has no ticket, and takes every ticket.
    private static let protected: HTTP2Server.Script = { $0.isAuthorized ? final : .status(401, [("WWW-Authenticate", "Negotiate")]) }

    private func withServer(
        extension sso: ScriptedExtension? = nil,
        script: @escaping HTTP2Server.Script,
        _ body: (HTTP2Server, String, NegotiatingHTTPClient) async throws -> Void
    ) async throws {
        let sso = try sso ?? ScriptedExtension()
        try await withTestRealm(users: [:], services: []) { realm in
            let identity = try await realm.makeServerIdentity(host: "a.localhost")
            var tls = TLSConfiguration.makeClientConfiguration()
            tls.trustRoots = .certificates(try NIOSSLCertificate.fromPEMFile(identity.certificatePath))
            let configuration = loopback { [tls] in $0.connections.tlsConfiguration = tls }
            try await HTTP2Server.run(script, identity: identity) { server, port in
                try await NegotiatingHTTPClient.withClient(extension: sso, configuration: configuration) { client in
                    try await body(server, "https://a.localhost:\(port)/", client)
                }
            }
        }
    }

    @Test func theTokenStaysOutOfCompressionTables() async throws {
        try await withServer(script: Self.protected) { server, url, client in
            let answer = try await client.negotiate(HTTPClientRequest(url: url))
            #expect(answer.delivery == .authenticated)
            #expect(server.requests.map(\.version) == [2, 2])
            #expect(server.requests.last?.isSensitive == true)
        }
    }

    /// Servers take less over HTTP/2 than what a token may be.
    @Test(arguments: [(11_000, 2), (60_000, 1)]) func aLongTokenGoesOverHTTP1(size: Int, version: Int) async throws {
        let sso = try ScriptedExtension { request in
            guard case .headers(let grant) = try ScriptedExtension.grant(for: request) else { return .notHandled([]) }
            let headers = NegotiateCredentials(token: Array(repeating: 7, count: size)).headers
            return .headers(AuthorizationGrant(headers: headers, identity: grant.identity, exchange: grant.exchange))
        }
        try await withServer(extension: sso, script: Self.protected) { server, url, client in
            let answer = try await client.negotiate(HTTPClientRequest(url: url))
            #expect(answer.delivery == .authenticated)
            #expect(server.requests.map(\.version) == [2, version])
        }
    }

    @Test(arguments: [false, true]) func aServerThatWantsHTTP1GetsIt(isOnlyForTickets: Bool) async throws {
        let script: HTTP2Server.Script = { request in
            request.version == 2 && request.isAuthorized == isOnlyForTickets ? .requireHTTP1 : Self.protected(request)
        }
        try await withServer(script: script) { server, url, client in
            var request = HTTPClientRequest(url: url)
            request.method = .POST
            request.body = .bytes(ByteBuffer(string: "whole"))
            let answer = try await client.negotiate(request)
            #expect(answer.delivery == .authenticated)
            #expect(server.requests.map(\.version) == (isOnlyForTickets ? [2, 2, 1] : [2, 1, 1]))
            #expect(server.requests.map(\.bodySize) == [5, 5, 5])
        }
    }

    /// For a host that nobody covers the body is not read beforehand, and half of it would be worse than an error.
    @Test func aBodyThatIsGoneIsNotSentOverHTTP1() async throws {
        let sso = try ScriptedExtension(change: { $0.hosts = [] })
        try await withServer(extension: sso, script: { $0.version == 2 ? .requireHTTP1 : .status(200) }) { server, url, client in
            var request = HTTPClientRequest(url: url)
            request.method = .POST
            request.body = .stream(OnceOnly(["one ", "two"]), length: .unknown)
            let error = await #expect(throws: AuthorizationError.self) { try await client.execute(request) }
            #expect(error?.code == .bodyNotReplayable)
            #expect(server.requests.map(\.version) == [2])
        }
    }
}
