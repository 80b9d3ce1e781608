import AsyncHTTPClient
import Foundation
import HTTPNegotiate
import HTTPTypes
import NIOHTTP1
import NegotiateAsyncHTTPClient
import TestSupport
import Testing

@Suite struct ExchangeTests {
    @Test func aPageWithoutAChallengeTakesOneRequest() async throws {
        try await withServer(extension: ScriptedExtension(), script: { _ in .page(token: nil) }) { server, client in
            let result = try await client.negotiate(server.request())
            #expect(try await result.response.text == "hello")
            #expect(result.delivery == .unauthenticated)
            #expect(server.traffic == [.init(connection: 1, isAuthorized: false)])
        }
    }

    @Test func aChallengeIsAnswered() async throws {
        let sso = try ScriptedExtension()
        try await withServer(extension: sso, script: ScriptedServer.protected) { server, client in
            let result = try await client.negotiate(server.request("a.test", "/page?x=1"))
            #expect(try await result.response.text == "hello")
            #expect(result.delivery == .authenticated)
            #expect(server.requests.map { $0.field("Authorization") } == [nil, negotiate("first")])
            #expect(server.requests.map(\.target) == ["/page?x=1", "/page?x=1"])
            #expect(sso.requests.map(\.url.absoluteString) == [server.url("a.test", "/page?x=1")])
            #expect(result.response.history.map { $0.request.headers.contains(name: "Authorization") } == [false])
        }
    }

    @Test func anExtensionThatDeclinesLeavesTheResponseAlone() async throws {
        let sso = try ScriptedExtension()
        try await withServer(extension: sso, script: ScriptedServer.protected) { server, client in
            let result = try await client.negotiate(server.request("elsewhere.test"))
            #expect(result.response.status == .unauthorized)
            #expect(try await result.response.text == "who are you?")
            #expect(result.delivery == .unauthenticated)
            #expect(server.requests.count == 1)
        }
    }

    @Test func whatTheExtensionThrowsIsThrown() async throws {
        let sso = try ScriptedExtension { _ in throw AuthorizationError(.notSignedIn, "Nobody is signed in.") }
        try await withServer(extension: sso, script: ScriptedServer.protected) { server, client in
            let error = await #expect(throws: AuthorizationError.self) { try await client.execute(server.request()) }
            #expect(error?.code == .notSignedIn)
            #expect(server.requests.count == 1)
        }
    }

    @Test func aServerThatAlwaysRefusesIsAskedTwice() async throws {
        try await withServer(extension: ScriptedExtension(), script: { _ in .challenge }) { server, client in
            let result = try await client.negotiate(server.request())
            #expect(result.response.status == .unauthorized)
            #expect(try await result.response.text == "who are you?")
            guard case .refused = result.delivery else { return #expect(Bool(false), "\(result.delivery)") }
            #expect(server.requests.count == 2)
        }
    }

    @Test func furtherLegsUseTheSameConnection() async throws {
        let script: ScriptedServer.Script = { request in
            switch request.field("Authorization") {
            case nil: .challenge
            case negotiate("leg 3"): .page()
            default: .response(401, [("WWW-Authenticate", negotiate("more"))], body: "more")
            }
        }
        try await withServer(extension: ScriptedExtension(), script: script) { server, client in
            let delivery = try await client.negotiate(server.request()).delivery
            #expect(delivery == .authenticated)
            let tokens = [nil, negotiate("first"), negotiate("leg 2"), negotiate("leg 3")]
            #expect(server.requests.map { $0.field("Authorization") } == tokens)
            #expect(server.requests.map(\.connection) == [1, 2, 2, 2])
        }
    }

    @Test(arguments: [1, 3]) func legsAreBounded(limit: Int) async throws {
        let script: ScriptedServer.Script = { request in
            request.field("Authorization") == nil ? .challenge : .response(401, [("WWW-Authenticate", negotiate("more"))])
        }
        let configuration = loopback { $0.maximumLegs = limit }
        try await withServer(extension: ScriptedExtension(), configuration: configuration, script: script) { server, client in
            let error = await #expect(throws: AuthorizationError.self) { try await client.execute(server.request()) }
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
    func aServerThatDoesNotProveItselfIsAnError(answer: Answer) async throws {
        let script: ScriptedServer.Script = { $0.field("Authorization") == nil ? .challenge : answer.reply }
        try await withServer(extension: ScriptedExtension(), script: script) { server, client in
            let error = await #expect(throws: AuthorizationError.self) { try await client.execute(server.request()) }
            #expect(error?.code == answer.code)
            #expect(server.requests.count == 2)
        }
    }

    @Test(arguments: [MutualAuthentication.optional, .off])
    func aMissingProofIsTakenWhereNoneIsRequired(mutualAuthentication: MutualAuthentication) async throws {
        let configuration = loopback { $0.mutualAuthentication = mutualAuthentication }
        let script: ScriptedServer.Script = { request in
            request.field("Authorization") == nil ? .challenge : .page(token: request.target == "/forged" ? "forged" : nil)
        }
        try await withServer(extension: ScriptedExtension(), configuration: configuration, script: script) { server, client in
            let status = try await client.execute(server.request()).status
            #expect(status == .ok)
            let forged = server.request("a.test", "/forged")
            if mutualAuthentication == .off {
                let delivery = try await client.negotiate(forged).delivery
                #expect(delivery == .authenticated, "what nobody asked for is not looked at")
            } else {
                let error = await #expect(throws: AuthorizationError.self) { try await client.execute(forged) }
                #expect(error?.code == .invalidResponse)
            }
        }
    }

    @Test func aFirstChallengeWithATokenIsAnError() async throws {
        let sso = try ScriptedExtension()
        let script: ScriptedServer.Script = { _ in .response(401, [("WWW-Authenticate", negotiate("more"))]) }
        try await withServer(extension: sso, script: script) { server, client in
            let error = await #expect(throws: AuthorizationError.self) { try await client.execute(server.request()) }
            #expect(error?.code == .invalidResponse)
            #expect(sso.requests.isEmpty)
        }
    }

    @Test(arguments: ["NTLM", "NTLM TlRMTVNTUAACAAAA", #"Basic realm="a, Negotiate Zm9v""#])
    func aSwitchToAnotherSchemeIsNotFollowed(challenge: String) async throws {
        let script: ScriptedServer.Script = { request in
            request.field("Authorization") == nil ? .challenge : .response(401, [("WWW-Authenticate", challenge)])
        }
        try await withServer(extension: ScriptedExtension(), script: script) { server, client in
            let status = try await client.execute(server.request()).status
            #expect(status == .unauthorized)
            #expect(server.requests.count == 2)
        }
    }

    @Test func aProxysChallengeIsNeverAnswered() async throws {
        let sso = try ScriptedExtension()
        let script: ScriptedServer.Script = { _ in
            .response(407, [("Proxy-Authenticate", "Negotiate"), ("WWW-Authenticate", "Negotiate")])
        }
        try await withServer(extension: sso, script: script) { server, client in
            let status = try await client.execute(server.request()).status
            #expect(status == .proxyAuthenticationRequired)
            #expect(server.requests.count == 1)
            #expect(sso.requests.isEmpty)
        }
    }

    @Test func theUsersOwnCredentialsEndTheMatter() async throws {
        let sso = try ScriptedExtension()
        try await withServer(extension: sso, script: { _ in .challenge }) { server, client in
            var request = server.request()
            request.headers.add(name: "authorization", value: "Bearer mine")
            let status = try await client.execute(request).status
            #expect(status == .unauthorized)
            #expect(server.requests.map { $0.field("Authorization") } == ["Bearer mine"])
            #expect(sso.requests.isEmpty)
        }
    }

    @Test func thePrincipalAndTheFieldsReachTheExtension() async throws {
        let sso = try ScriptedExtension()
        let configuration = loopback {
            $0.principal = "bob@EXAMPLE.TEST"
            $0.isUserInterfaceEnabled = true
        }
        try await withServer(extension: sso, configuration: configuration, script: ScriptedServer.protected) { server, client in
            var request = server.request()
            request.headers.add(name: "X-Purpose", value: "test")
            _ = try await client.execute(request)
            let asked = try #require(sso.requests.first)
            #expect(asked.principal == "bob@EXAMPLE.TEST")
            #expect(asked.isUserInterfaceEnabled)
            #expect(asked.headers.contains { $0.name.rawName == "X-Purpose" && $0.value == "test" })
        }
    }

    @Test func aTokenOf64KiBIsSentWhole() async throws {
        let token = [UInt8](repeating: 0x41, count: 65536)
        let sso = try ScriptedExtension { try ScriptedExtension.grant(for: $0, token: token) }
        try await withServer(extension: sso, script: ScriptedServer.protected) { server, client in
            let status = try await client.execute(server.request()).status
            #expect(status == .ok)
            #expect(server.requests.last?.field("Authorization") == NegotiateCredentials(token: token).fieldValue)
        }
    }
}
