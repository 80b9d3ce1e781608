import Foundation
import HTTPNegotiate
import HTTPTypes
import TestSupport
import Testing

/// Exchanges of one leg: which challenges are answered, and what the caller gets.
@Suite(.timeLimit(.minutes(5))) struct ExchangeTests {
    @Test(arguments: ClientLibrary.allCases) func `a page without a challenge takes one request`(library: ClientLibrary) async throws {
        try await library.withServer(script: { _ in .page(token: nil) }) { server, client in
            let reply = try await client.send(server.request())
            #expect(reply.body == "hello")
            #expect(reply.report == NegotiationReport(delivery: .unauthenticated))
            #expect(server.traffic == [.init(connection: 1, isAuthorized: false)])
        }
    }

    @Test(arguments: ClientLibrary.allCases) func `a challenge is answered with one token`(library: ClientLibrary) async throws {
        let sso = try ScriptedExtension()
        try await library.withServer(extension: sso, script: ScriptedServer.protected) { server, client in
            let reply = try await client.send(server.request("a.localhost", "/page?x=1"))
            #expect(reply.status == 200)
            #expect(reply.body == "hello")
            let identity = AuthorizationIdentity(principal: "alice@EXAMPLE.TEST", servicePrincipal: "HTTP/a.localhost")
            #expect(reply.report == NegotiationReport(delivery: .authenticated, identity: identity))
            #expect(server.requests.map { $0.field("Authorization") } == [nil, negotiate("first")])
            #expect(server.requests.map(\.target) == ["/page?x=1", "/page?x=1"])
            #expect(sso.requests.map(\.url.absoluteString) == [server.url("a.localhost", "/page?x=1")])
        }
    }

    static let challenges = [
        [("WWW-Authenticate", "Negotiate"), ("WWW-Authenticate", "NTLM"), ("WWW-Authenticate", #"Digest realm="a, b", nonce="c""#)],
        [("WWW-Authenticate", #"Basic realm="x", charset="UTF-8""#), ("WWW-Authenticate", "Negotiate")],
        [("WWW-Authenticate", "Negotiate"), ("WWW-Authenticate", #"Basic realm="x""#)],
        [("www-authenticate", #"Basic realm="a, Negotiate Zm9v", negotiate"#)],
    ]

    @Test(arguments: ClientLibrary.allCases, challenges)
    func `a Negotiate challenge is found among other schemes`(library: ClientLibrary, challenges: [(String, String)]) async throws {
        let script: ScriptedServer.Script = { $0.field("Authorization") == nil ? .response(401, challenges) : .page() }
        try await library.withServer(script: script) { server, client in
            let reply = try await client.send(server.request())
            #expect(reply.delivery == .authenticated)
            #expect(server.requests.count == 2)
        }
    }

    @Test(arguments: ClientLibrary.allCases, [#"Basic realm="x""#, #"Digest realm="x", nonce="y""#, "NTLM", "Bearer"])
    func `a 401 without Negotiate is delivered to the caller`(library: ClientLibrary, challenge: String) async throws {
        let script: ScriptedServer.Script = { _ in .response(401, [("WWW-Authenticate", challenge)], body: "who?") }
        try await library.withServer(script: script) { server, client in
            for _ in 1...2 {
                let reply = try await client.send(server.request())
                #expect(reply.status == 401)
                #expect(reply.body == "who?")
                #expect(reply.delivery == .unauthenticated)
            }
            #expect(server.traffic == Array(repeating: .init(connection: 1, isAuthorized: false), count: 2))
        }
    }

    @Test(arguments: ClientLibrary.allCases, ["NTLM", "NTLM TlRMTVNTUAACAAAA", #"Basic realm="a, Negotiate Zm9v""#])
    func `a switch to another scheme is not followed`(library: ClientLibrary, challenge: String) async throws {
        let script: ScriptedServer.Script = { request in
            request.field("Authorization") == nil ? .challenge : .response(401, [("WWW-Authenticate", challenge)])
        }
        try await library.withServer(script: script) { server, client in
            let reply = try await client.send(server.request())
            #expect(reply.status == 401)
            #expect(server.requests.count == 2)
        }
    }

    @Test(arguments: ClientLibrary.allCases) func `a 401 of an uncovered host is delivered unchanged`(library: ClientLibrary)
        async throws
    {
        try await library.withServer(script: ScriptedServer.protected) { server, client in
            let reply = try await client.send(server.request("elsewhere.localhost"))
            #expect(reply.status == 401)
            #expect(reply.body == "who are you?")
            #expect(reply.delivery == .unauthenticated)
            #expect(server.requests.count == 1)
        }
    }

    @Test(arguments: ClientLibrary.allCases) func `an error of the extension is thrown to the caller`(library: ClientLibrary) async throws {
        let sso = try ScriptedExtension { _ in throw AuthorizationError(.notSignedIn, "No one is signed in.") }
        try await library.withServer(extension: sso, script: ScriptedServer.protected) { server, client in
            let error = await #expect(throws: AuthorizationError.self) { try await client.send(server.request()) }
            #expect(error?.code == .notSignedIn)
            #expect(server.requests.count == 1)
        }
    }

    @Test(arguments: ClientLibrary.allCases) func `a server that always challenges gets two requests`(library: ClientLibrary) async throws {
        try await library.withServer(script: { _ in .challenge }) { server, client in
            let reply = try await client.send(server.request())
            #expect(reply.status == 401)
            #expect(reply.body == "who are you?")
            guard case .refused = reply.delivery else { return #expect(Bool(false), "\(reply.delivery)") }
            #expect(server.requests.count == 2)
        }
    }

    @Test(arguments: ClientLibrary.allCases, ["Negotiate", #"Basic realm="x", Negotiate"#])
    func `a proxy's challenge is never answered`(library: ClientLibrary, challenge: String) async throws {
        let sso = try ScriptedExtension()
        let script: ScriptedServer.Script = { _ in
            .response(407, [("Proxy-Authenticate", challenge), ("WWW-Authenticate", "Negotiate")])
        }
        try await library.withServer(extension: sso, script: script) { server, client in
            let reply = try await client.send(server.request())
            #expect(reply.status == 407)
            #expect(server.requests.count == 1)
            #expect(sso.requests.isEmpty)
        }
    }

    @Test(arguments: ClientLibrary.allCases) func `the principal and the header fields reach the extension`(library: ClientLibrary)
        async throws
    {
        let sso = try ScriptedExtension()
        let settings = ClientSettings { ($0.principal, $0.isUserInterfaceEnabled) = ("bob@EXAMPLE.TEST", true) }
        try await library.withServer(extension: sso, settings: settings, script: ScriptedServer.protected) { server, client in
            _ = try await client.send(server.request(fields: ["X-Purpose": "test"]))
            let request = try #require(sso.requests.first)
            #expect(request.principal == "bob@EXAMPLE.TEST")
            #expect(request.isUserInterfaceEnabled)
            #expect(request.headers.contains { $0.name.rawName == "X-Purpose" && $0.value == "test" })
        }
    }

    @Test(arguments: ClientLibrary.allCases) func `a token of 64 KiB is sent completely`(library: ClientLibrary) async throws {
        let token = [UInt8](repeating: 0x41, count: 65536)
        let sso = try ScriptedExtension { try ScriptedExtension.grant(for: $0, token: token) }
        try await library.withServer(extension: sso, script: ScriptedServer.protected) { server, client in
            let reply = try await client.send(server.request())
            #expect(reply.status == 200)
            #expect(server.requests.last?.field("Authorization") == NegotiateCredentials(token: token).fieldValue)
        }
    }
}
