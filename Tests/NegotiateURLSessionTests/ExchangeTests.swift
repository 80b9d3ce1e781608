import Foundation
import HTTPNegotiate
import HTTPTypes
import NegotiateURLSession
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(1))) struct ExchangeTests {
    @Test func `a page without a challenge takes one request`() async throws {
        try await withServer(script: { _ in .page(token: nil) }) { server, session in
            let reply = try await session.send("GET", server.url())
            #expect(reply.body == "hello")
            #expect(reply.report == NegotiationReport(delivery: .unauthenticated))
            #expect(server.traffic == [.init(connection: 1, isAuthorized: false)])
        }
    }

    @Test func `a challenge is answered`() async throws {
        let sso = try scriptedExtension()
        try await withServer(extension: sso, script: ScriptedServer.protected) { server, session in
            let reply = try await session.send("GET", server.url("a.localhost", "/page?x=1"))
            #expect(reply.status == 200)
            #expect(reply.body == "hello")
            #expect(reply.delivery == .authenticated)
            #expect(reply.report.identity == AuthorizationIdentity(principal: "alice@EXAMPLE.TEST", servicePrincipal: "HTTP/a.localhost"))
            #expect(!reply.report.isChannelBound)
            #expect(server.requests.map { $0.field("Authorization") } == [nil, negotiate("first")])
            #expect(server.requests.map(\.target) == ["/page?x=1", "/page?x=1"])
            #expect(sso.requests.map(\.url.absoluteString) == [server.url("a.localhost", "/page?x=1")])
        }
    }

    @Test(arguments: [
        [("WWW-Authenticate", "Negotiate"), ("WWW-Authenticate", "NTLM"), ("WWW-Authenticate", #"Digest realm="a, b", nonce="c""#)],
        [("WWW-Authenticate", #"Basic realm="x", charset="UTF-8""#), ("WWW-Authenticate", "Negotiate")],
        [("WWW-Authenticate", "Negotiate"), ("WWW-Authenticate", #"Basic realm="x""#)],
        [("www-authenticate", #"Basic realm="a, Negotiate Zm9v", negotiate"#)],
    ])
    func `it is found among others`(challenges: [(String, String)]) async throws {
        try await withServer(script: { $0.field("Authorization") == nil ? .response(401, challenges) : .page() }) { server, session in
            let reply = try await session.send("GET", server.url())
            #expect(reply.delivery == .authenticated)
            #expect(server.requests.count == 2)
        }
    }

    @Test(arguments: [#"Basic realm="x""#, #"Digest realm="x", nonce="y""#, "NTLM", "Bearer"])
    func `other schemes are the caller's`(challenge: String) async throws {
        try await withServer(script: { _ in .response(401, [("WWW-Authenticate", challenge)], body: "who?") }) { server, session in
            for _ in 1...2 {
                let reply = try await session.send("GET", server.url())
                #expect(reply.status == 401)
                #expect(reply.body == "who?")
                #expect(reply.delivery == .unauthenticated)
            }
            #expect(server.traffic == Array(repeating: .init(connection: 1, isAuthorized: false), count: 2))
        }
    }

    @Test func `an extension that declines leaves the response alone`() async throws {
        let sso = try scriptedExtension()
        try await withServer(extension: sso, script: ScriptedServer.protected) { server, session in
            let reply = try await session.send("GET", server.url("elsewhere.localhost"))
            #expect(reply.status == 401)
            #expect(reply.body == "who are you?")
            #expect(reply.delivery == .unauthenticated)
            #expect(server.requests.count == 1)
        }
    }

    @Test func `what the extension throws is thrown`() async throws {
        let sso = try scriptedExtension(answer: { _ in throw AuthorizationError(.notSignedIn, "Nobody is signed in.") })
        try await withServer(extension: sso, script: ScriptedServer.protected) { server, session in
            let error = await #expect(throws: AuthorizationError.self) { try await session.send("GET", server.url()) }
            #expect(error?.code == .notSignedIn)
            #expect(server.requests.count == 1)
        }
    }

    @Test func `a server that always refuses is asked twice`() async throws {
        try await withServer(script: { _ in .challenge }) { server, session in
            let reply = try await session.send("GET", server.url())
            #expect(reply.status == 401)
            #expect(reply.body == "who are you?")
            guard case .refused = reply.delivery else { return #expect(Bool(false), "\(reply.delivery)") }
            #expect(server.requests.count == 2)
        }
    }

    @Test func `further legs use the same connection`() async throws {
        let script: ScriptedServer.Script = { request in
            switch request.field("Authorization") {
            case nil: .challenge
            case negotiate("leg 3"): .page()
            default: .response(401, [("WWW-Authenticate", negotiate("more"))], body: "more")
            }
        }
        try await withServer(script: script) { server, session in
            let reply = try await session.send("GET", server.url())
            #expect(reply.delivery == .authenticated)
            #expect(server.requests.map { $0.field("Authorization") } == [nil] + ["first", "leg 2", "leg 3"].map(negotiate))
            #expect(server.requests.map(\.connection) == [1, 2, 2, 2])
        }
    }

    @Test(arguments: [1, 3]) func `legs are bounded`(limit: Int) async throws {
        let script: ScriptedServer.Script = { request in
            request.field("Authorization") == nil ? .challenge : .response(401, [("WWW-Authenticate", negotiate("more"))])
        }
        try await withServer(configuration: settings { $0.maximumLegs = limit }, script: script) { server, session in
            let error = await #expect(throws: AuthorizationError.self) { try await session.send("GET", server.url()) }
            #expect(error?.code == .tooManyLegs)
            #expect(server.requests.count == 1 + limit)
        }
    }

    struct Answer: Sendable, CustomTestStringConvertible {
        let reply: ScriptedServer.Reply
        let code: AuthorizationError.Code
        let testDescription: String

        init(_ description: String, _ reply: ScriptedServer.Reply, _ code: AuthorizationError.Code) {
            (testDescription, self.reply, self.code) = (description, reply, code)
        }
    }

    @Test(arguments: [
        Answer("no final token", .page(token: nil), .mutualAuthenticationFailed),
        Answer("an error page without a token", .page(token: nil, status: 500), .mutualAuthenticationFailed),
        Answer("a bare final challenge", .response(200, [("WWW-Authenticate", "Negotiate")]), .mutualAuthenticationFailed),
        Answer("a wrong final token", .page(token: "forged"), .invalidResponse),
        Answer("a final token that asks for more", .page(token: "more"), .invalidResponse),
        Answer("a final token that is not base64", .response(200, [("WWW-Authenticate", "Negotiate !!!")]), .invalidResponse),
        Answer("a second challenge that is not base64", .response(401, [("WWW-Authenticate", "Negotiate QQ")]), .invalidResponse),
        Answer("NTLM inside Negotiate", .response(401, [("WWW-Authenticate", negotiate("NTLMSSP\0"))]), .invalidResponse),
    ])
    func `a server that does not prove itself is an error`(answer: Answer) async throws {
        try await withServer(script: { $0.field("Authorization") == nil ? .challenge : answer.reply }) { server, session in
            let error = await #expect(throws: AuthorizationError.self) { try await session.send("GET", server.url()) }
            #expect(error?.code == answer.code)
            #expect(server.requests.count == 2)
        }
    }

    @Test func `with optional mutual authentication a missing token is taken and a wrong one is not`() async throws {
        let script: ScriptedServer.Script = { request in
            request.field("Authorization") == nil ? .challenge : .page(token: request.target == "/forged" ? "forged" : nil)
        }
        try await withServer(configuration: settings { $0.mutualAuthentication = .optional }, script: script) { server, session in
            let reply = try await session.send("GET", server.url())
            #expect(reply.status == 200)
            let error = await #expect(throws: AuthorizationError.self) {
                try await session.send("GET", server.url("a.localhost", "/forged"))
            }
            #expect(error?.code == .invalidResponse)
        }
    }

    @Test func `the profile says which server need not prove itself`() async throws {
        let sso = try scriptedExtension(change: { $0.noMutualAuthenticationHosts = [try HostRule("a.localhost")] })
        let script: ScriptedServer.Script = { $0.field("Authorization") == nil ? .challenge : .page(token: nil) }
        try await withServer(extension: sso, script: script) { server, session in
            let reply = try await session.send("GET", server.url())
            #expect(reply.delivery == .authenticated)
            await #expect(throws: AuthorizationError.self) { try await session.send("GET", server.url("b.localhost")) }
        }
    }

    @Test func `a proxy's challenge is never answered`() async throws {
        let sso = try scriptedExtension()
        let script: ScriptedServer.Script = { _ in
            .response(407, [("Proxy-Authenticate", #"Basic realm="x", Negotiate"#), ("WWW-Authenticate", "Negotiate")])
        }
        try await withServer(extension: sso, script: script) { server, session in
            let reply = try await session.send("GET", server.url())
            #expect(reply.status == 407)
            #expect(server.requests.count == 1)
            #expect(sso.requests.isEmpty)
        }
    }

    @Test func `the principal and the fields reach the extension`() async throws {
        let sso = try scriptedExtension()
        let configuration = settings {
            $0.principal = "bob@EXAMPLE.TEST"
            $0.isUserInterfaceEnabled = true
        }
        try await withServer(extension: sso, configuration: configuration, script: ScriptedServer.protected) { server, session in
            _ = try await session.send("GET", server.url(), headers: ["X-Purpose": "test"])
            let asked = try #require(sso.requests.first)
            #expect(asked.principal == "bob@EXAMPLE.TEST")
            #expect(asked.isUserInterfaceEnabled)
            #expect(asked.headers.contains { $0.name.rawName == "X-Purpose" && $0.value == "test" })
        }
    }

    @Test func `a token of 64 KiB is sent whole`() async throws {
        let token = [UInt8](repeating: 0x41, count: 65536)
        let sso = try scriptedExtension(answer: { try ScriptedExtension.grant(for: $0, token: token) })
        try await withServer(extension: sso, script: ScriptedServer.protected) { server, session in
            let reply = try await session.send("GET", server.url())
            #expect(reply.status == 200)
            #expect(server.requests.last?.field("Authorization") == NegotiateCredentials(token: token).fieldValue)
        }
    }

    @Test func `a host that opted in gets a ticket at once, after it has asked`() async throws {
        let sso = try scriptedExtension(change: { $0.preemptiveHosts = [try HostRule("a.localhost")] })
        try await withServer(extension: sso, script: ScriptedServer.protected) { server, session in
            for _ in 1...3 {
                let reply = try await session.send("GET", server.url())
                #expect(reply.delivery == .authenticated)
            }
            #expect(server.traffic.map(\.isAuthorized) == [false, true, true, true])
            // Whether libcurl uses a connection again is its own affair; one that carried no ticket never carries one.
            #expect(server.traffic.dropFirst().allSatisfy { $0.connection != 1 })
        }
    }
}
