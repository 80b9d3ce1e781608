import AsyncHTTPClient
import Foundation
import HTTPNegotiate
import NIOCore
import NIOHTTP1
import TestSupport
import Testing

@testable import NegotiateAsyncHTTPClient

@Suite struct RedirectTests {
    @Test func eachHopIsDecidedByItself() async throws {
        let sso = try ScriptedExtension()
        let script: ScriptedServer.Script = { request in
            switch (request.target, request.field("Authorization")) {
            case (_, nil): .challenge
            case ("/start", _):
                .response(302, [("WWW-Authenticate", negotiate("final")), ("Location", "http://b.test:\(port(of: request))/end")])
            default: .page("the end")
            }
        }
        try await withServer(extension: sso, script: script) { server, client in
            let result = try await client.negotiate(server.request("a.test", "/start"))
            let text = try await result.response.text
            #expect(text == "the end")
            #expect(result.delivery == .authenticated)
            #expect(sso.requests.map { $0.url.host() } == ["a.test", "b.test"])
            #expect(server.requests.map { $0.field("Authorization") != nil } == [false, true, false, true])
            #expect(result.response.history.map(\.responseHead.status.code) == [302, 200])
            #expect(result.response.url?.path() == "/end")
        }
    }

    @Test func nothingOfOursOrTheUsersLeavesForAnotherHost() async throws {
        let sso = try ScriptedExtension()
        let script: ScriptedServer.Script = { request in
            guard request.target == "/start" else { return .challenge }
            guard request.field("Authorization") != nil else { return .challenge }
            return .response(
                307,
                [("WWW-Authenticate", negotiate("final")), ("Location", "http://elsewhere.test:\(port(of: request))/end")]
            )
        }
        try await withServer(extension: sso, script: script) { server, client in
            var request = server.request("a.test", "/start")
            request.headers = ["Cookie": "session=1", "Proxy-Authorization": "Basic QQ==", "X-Kept": "yes"]
            let status = try await client.execute(request).status
            #expect(status == .unauthorized)
            let last = try #require(server.requests.last)
            #expect(last.target == "/end")
            for name in ["Authorization", "Cookie", "Proxy-Authorization"] { #expect(last.field(name) == nil) }
            #expect(last.field("X-Kept") == "yes")
            #expect(last.field("Host") == "elsewhere.test:\(server.port)")
            #expect(sso.requests.map { $0.url.host() } == ["a.test", "elsewhere.test"])
            #expect(server.requests.count == 3)
        }
    }

    @Test func theUsersAuthorizationStaysWithItsOrigin() async throws {
        let script: ScriptedServer.Script = { request in
            switch request.target {
            case "/1": .redirect(302, to: "/2")
            case "/2": .redirect(302, to: "http://b.test:\(port(of: request))/3")
            default: .challenge
            }
        }
        let sso = try ScriptedExtension()
        try await withServer(extension: sso, script: script) { server, client in
            var request = server.request("a.test", "/1")
            request.headers.add(name: "Authorization", value: "Bearer mine")
            let status = try await client.execute(request).status
            #expect(status == .unauthorized)
            #expect(server.requests.map { $0.field("Authorization") } == ["Bearer mine", "Bearer mine", nil])
            #expect(sso.requests.isEmpty)
        }
    }

    @Test func aRedirectMustBeProvenToo() async throws {
        let script: ScriptedServer.Script = { $0.field("Authorization") == nil ? .challenge : .redirect(302, to: "/end") }
        try await withServer(extension: ScriptedExtension(), script: script) { server, client in
            let error = await #expect(throws: AuthorizationError.self) { try await client.execute(server.request()) }
            #expect(error?.code == .mutualAuthenticationFailed)
        }
    }

    @Test(arguments: [
        (301, "POST", "GET"), (302, "POST", "GET"), (303, "POST", "GET"), (307, "POST", "POST"), (308, "POST", "POST"),
        (301, "PUT", "PUT"), (302, "PUT", "PUT"), (303, "PUT", "GET"), (303, "HEAD", "HEAD"), (301, "HEAD", "HEAD"),
        (302, "DELETE", "DELETE"),
    ])
    func theMethodFollowsTheStatus(status: Int, method: String, expected: String) async throws {
        let script: ScriptedServer.Script = { $0.target == "/start" ? .redirect(status, to: "end") : .page(token: nil) }
        try await withServer(extension: ScriptedExtension(), script: script) { server, client in
            var request = server.request("a.test", "/start")
            request.method = HTTPMethod(rawValue: method)
            let hasBody = method == "POST" || method == "PUT"
            if hasBody {
                request.body = .bytes(ByteBuffer(string: "data"))
                request.headers.add(name: "Content-Type", value: "text/plain")
            }
            _ = try await client.execute(request)
            let last = try #require(server.requests.last)
            #expect(last.target == "/end")
            #expect(last.method == expected)
            #expect(last.body == (hasBody && expected == method ? "data" : ""))
            #expect((last.field("Content-Type") != nil) == (hasBody && expected == method))
        }
    }

    @Test func aBodyThatCannotBeSentAgainEndsTheChain() async throws {
        let script: ScriptedServer.Script = { _ in .redirect(307, to: "/end") }
        try await withServer(extension: ScriptedExtension(), script: script) { server, client in
            var request = server.request("elsewhere.test", "/start")
            request.method = .POST
            request.body = .stream(OnceOnly(["data"]), length: .unknown)
            let response = try await client.execute(request)
            #expect(response.status == .temporaryRedirect)
            let text = try await response.text
            #expect(text == "moved")
            #expect(server.requests.count == 1)
        }
    }

    @Test(arguments: [1, 5]) func redirectsAreBounded(limit: Int) async throws {
        let configuration = loopback { $0.maximumRedirects = limit }
        let script: ScriptedServer.Script = { _ in .redirect(302, to: "/again") }
        try await withServer(extension: ScriptedExtension(), configuration: configuration, script: script) { server, client in
            let error = await #expect(throws: HTTPTransportError.self) { try await client.execute(server.request()) }
            #expect(error?.code == .tooManyRedirects)
            #expect(server.requests.count == limit + 1)
        }
    }

    @Test func withNoneAllowedTheResponseIsHandedOn() async throws {
        let configuration = loopback { $0.maximumRedirects = 0 }
        let script: ScriptedServer.Script = { _ in .redirect(302, to: "http://[") }
        try await withServer(extension: ScriptedExtension(), configuration: configuration, script: script) { server, client in
            let status = try await client.execute(server.request()).status
            #expect(status == .found)
        }
    }
}

/// The server's port, which each request names.
private func port(of request: ScriptedServer.Request) -> String {
    request.field("Host")?.split(separator: ":").last.map { String($0) } ?? ""
}
