import HTTPNegotiate
import SignOnPolicy
import TestSupport
import Testing

/// A server must authenticate itself before the caller gets its response.
@Suite(.timeLimit(.minutes(5))) struct MutualAuthenticationTests {
    struct Answer: Sendable, CustomTestStringConvertible {
        let reply: ScriptedServer.Reply
        let code: AuthorizationError.Code
        let testDescription: String

        init(_ description: String, _ reply: ScriptedServer.Reply, _ code: AuthorizationError.Code) {
            (testDescription, self.reply, self.code) = (description, reply, code)
        }
    }

    static let answers = [
        Answer("no final token", .page(token: nil), .mutualAuthenticationFailed),
        Answer("an error page without a token", .page(token: nil, status: 500), .mutualAuthenticationFailed),
        Answer("a bare final challenge", .response(200, [("WWW-Authenticate", "Negotiate")]), .mutualAuthenticationFailed),
        Answer("a wrong final token", .page(token: "forged"), .invalidResponse),
        Answer("a final token that asks for more", .page(token: "more"), .invalidResponse),
        Answer("a final token that is not base64", .response(200, [("WWW-Authenticate", "Negotiate !!!")]), .invalidResponse),
        Answer("a second challenge that is not base64", .response(401, [("WWW-Authenticate", "Negotiate QQ")]), .invalidResponse),
        Answer("NTLM inside Negotiate", .response(401, [("WWW-Authenticate", negotiate("NTLMSSP\0"))]), .invalidResponse),
    ]

    @Test(arguments: ClientLibrary.allCases, answers)
    func `a response without a valid proof of the server is an error`(library: ClientLibrary, answer: Answer) async throws {
        try await library.withServer(script: { $0.field("Authorization") == nil ? .challenge : answer.reply }) { server, client in
            let error = await #expect(throws: AuthorizationError.self) { try await client.send(server.request()) }
            #expect(error?.code == answer.code)
            #expect(server.requests.count == 2)
        }
    }

    /// Some clients remember a successful proof for all later responses.
    @Test(arguments: ClientLibrary.allCases) func `a server must prove itself with every response`(library: ClientLibrary) async throws {
        let script: ScriptedServer.Script = { request in
            request.field("Authorization") == nil ? .challenge : .page(token: request.target == "/" ? "final" : nil)
        }
        try await library.withServer(script: script) { server, client in
            let first = try await client.send(server.request())
            #expect(first.delivery == .authenticated)
            let error = await #expect(throws: AuthorizationError.self) { try await client.send(server.request("a.localhost", "/again")) }
            #expect(error?.code == .mutualAuthenticationFailed)
            #expect(error?.message.contains("http://a.localhost:\(server.port)") == true)
        }
    }

    @Test(arguments: ClientLibrary.allCases, [MutualAuthentication.optional, .off])
    func `a missing proof is accepted if none is required`(library: ClientLibrary, mutualAuthentication: MutualAuthentication) async throws
    {
        let settings = ClientSettings { $0.mutualAuthentication = mutualAuthentication }
        let script: ScriptedServer.Script = { request in
            request.field("Authorization") == nil ? .challenge : .page(token: request.target == "/forged" ? "forged" : nil)
        }
        try await library.withServer(settings: settings, script: script) { server, client in
            let reply = try await client.send(server.request())
            #expect(reply.status == 200)
            let forged = server.request("a.localhost", "/forged")
            if mutualAuthentication == .off {
                let delivery = try await client.send(forged).delivery
                #expect(delivery == .authenticated, "a proof that was not requested is ignored")
            } else {
                let error = await #expect(throws: AuthorizationError.self) { try await client.send(forged) }
                #expect(error?.code == .invalidResponse)
            }
        }
    }

    @Test(arguments: ClientLibrary.allCases) func `a host in noMutualAuthenticationHosts needs no proof`(library: ClientLibrary)
        async throws
    {
        let sso = try ScriptedExtension(change: { $0.noMutualAuthenticationHosts = [try HostRule("a.localhost")] })
        let script: ScriptedServer.Script = { $0.field("Authorization") == nil ? .challenge : .page(token: nil) }
        try await library.withServer(extension: sso, script: script) { server, client in
            let reply = try await client.send(server.request())
            #expect(reply.delivery == .authenticated)
            await #expect(throws: AuthorizationError.self) { try await client.send(server.request("b.localhost")) }
        }
    }

    /// The caller may use another scheme of the same 401.
    @Test(
        arguments: ClientLibrary.allCases,
        [negotiate("more"), "Negotiate fish", "Negotiate f!sh", "negotiate aGVsbG8=", "Negotiate a=\"b\""]
    )
    func `a 401 with an unanswerable first challenge is delivered as refused`(library: ClientLibrary, challenge: String) async throws {
        let sso = try ScriptedExtension()
        let fields = [("WWW-Authenticate", challenge), ("WWW-Authenticate", "Basic realm=\"x\"")]
        try await library.withServer(extension: sso, script: { _ in .response(401, fields, body: "sign in") }) { server, client in
            let reply = try await client.send(server.request())
            guard case .refused(let reason) = reply.delivery else {
                Issue.record("\(reply.delivery)")
                return
            }
            #expect(reason.hasPrefix("The server's Negotiate challenge cannot be answered: its "))
            #expect(reply.status == 401)
            #expect(reply.body == "sign in")
            #expect(sso.requests.isEmpty)
            #expect(server.requests.count == 1)
        }
    }

    @Test(arguments: ClientLibrary.allCases)
    func `the connection of a server without a valid proof is closed`(library: ClientLibrary) async throws {
        let script: ScriptedServer.Script = { $0.field("Authorization") == nil ? .challenge : .page(token: "forged") }
        try await library.withServer(script: script) { server, client in
            for _ in 1...2 { _ = await #expect(throws: AuthorizationError.self) { try await client.send(server.request()) } }
            if library.makesConnections { #expect(server.requests.map(\.connection) == [1, 2, 1, 3]) }
            let withTickets = Set(server.traffic.filter(\.isAuthorized).map(\.connection))
            #expect(withTickets.count == 2)
            try #require(await server.hasClosed(withTickets))
        }
    }
}
