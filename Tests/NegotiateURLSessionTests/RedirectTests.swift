import Foundation
import FoundationNetworking
import HTTPNegotiate
import NegotiateURLSession
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(1))) struct RedirectTests {
    @Test func `each hop is decided by itself`() async throws {
        let sso = try scriptedExtension()
        let script: ScriptedServer.Script = { request in
            switch (request.target, request.field("Authorization")) {
            case (_, nil): .challenge
            case ("/start", _):
                .response(302, [("WWW-Authenticate", negotiate("final")), ("Location", "http://b.localhost:\(request.port)/end")])
            default: .page("the end")
            }
        }
        try await withServer(extension: sso, script: script) { server, session in
            let answer = try await session.negotiate(server.request("a.localhost", "/start"))
            #expect(String(decoding: answer.data, as: UTF8.self) == "the end")
            #expect(answer.delivery == .authenticated)
            #expect(sso.requests.map { $0.url.host() } == ["a.localhost", "b.localhost"])
            #expect(server.requests.map { $0.field("Authorization") != nil } == [false, true, false, true])
            #expect(Set(server.requests.map(\.connection)).count == 4)
            #expect(answer.response.url?.absoluteString == server.url("b.localhost", "/end"))
        }
    }

    @Test func `nothing of ours or the user's leaves for another host`() async throws {
        let sso = try scriptedExtension()
        let script: ScriptedServer.Script = { request in
            guard request.target == "/start", request.field("Authorization") != nil else { return .challenge }
            return .response(
                307,
                [("WWW-Authenticate", negotiate("final")), ("Location", "http://elsewhere.localhost:\(request.port)/end")]
            )
        }
        try await withServer(extension: sso, script: script) { server, session in
            let headers = ["Cookie": "session=1", "Proxy-Authorization": "Basic QQ==", "X-Kept": "yes"]
            let reply = try await session.send("GET", server.url("a.localhost", "/start"), headers: headers)
            #expect(reply.status == 401)
            let last = try #require(server.requests.last)
            #expect(last.target == "/end")
            for name in ["Authorization", "Cookie", "Proxy-Authorization"] { #expect(last.field(name) == nil) }
            #expect(last.field("X-Kept") == "yes")
            #expect(last.field("Host") == "elsewhere.localhost:\(server.port)")
            #expect(sso.requests.map { $0.url.host() } == ["a.localhost", "elsewhere.localhost"])
            #expect(server.requests.count == 3)
        }
    }

    @Test func `a redirect must be proven too`() async throws {
        let script: ScriptedServer.Script = { $0.field("Authorization") == nil ? .challenge : .redirect(302, to: "/end") }
        try await withServer(script: script) { server, session in
            let error = await #expect(throws: AuthorizationError.self) { try await session.send("GET", server.url()) }
            #expect(error?.code == .mutualAuthenticationFailed)
            #expect(server.requests.count == 2)
        }
    }

    @Test(arguments: [
        (301, "POST", "GET"), (302, "POST", "GET"), (303, "POST", "GET"), (307, "POST", "POST"), (308, "POST", "POST"),
        (301, "PUT", "PUT"), (302, "PUT", "PUT"), (303, "PUT", "GET"), (303, "HEAD", "HEAD"), (301, "HEAD", "HEAD"),
        (302, "DELETE", "DELETE"),
    ])
    func `the method follows the status`(status: Int, method: String, expected: String) async throws {
        let script: ScriptedServer.Script = { $0.target == "/start" ? .redirect(status, to: "end") : .page(token: nil) }
        try await withServer(script: script) { server, session in
            let hasBody = method == "POST" || method == "PUT"
            _ = try await session.send(
                method,
                server.url("a.localhost", "/start"),
                headers: hasBody ? ["Content-Type": "text/plain"] : [:],
                body: hasBody ? "data" : nil
            )
            let last = try #require(server.requests.last)
            #expect(last.target == "/end")
            #expect(last.method == expected)
            #expect(last.body == (hasBody && expected == method ? "data" : ""))
            #expect((last.field("Content-Type") != nil) == (hasBody && expected == method))
        }
    }

    @Test func `a body that can't be sent again ends the chain`() async throws {
        try await withServer(script: { _ in .redirect(307, to: "/end") }) { server, session in
            var request = try server.request("elsewhere.localhost", "/start")
            request.httpMethod = "POST"
            request.httpBodyStream = InputStream(data: Data("data".utf8))
            let (data, response) = try await session.data(for: request)
            #expect(response.statusCode == 307)
            #expect(String(decoding: data, as: UTF8.self) == "moved")
            #expect(server.requests.count == 1)
        }
    }

    @Test(arguments: [1, 5]) func `redirects are bounded`(limit: Int) async throws {
        let configuration = settings { $0.maximumRedirects = limit }
        try await withServer(configuration: configuration, script: { _ in .redirect(302, to: "/again") }) { server, session in
            let error = await #expect(throws: HTTPTransportError.self) { try await session.send("GET", server.url()) }
            #expect(error?.code == .tooManyRedirects)
            #expect(server.requests.count == limit + 1)
        }
    }

    @Test func `with none allowed the response is handed on`() async throws {
        let configuration = settings { $0.maximumRedirects = 0 }
        try await withServer(configuration: configuration, script: { _ in .redirect(302, to: "/end") }) { server, session in
            let reply = try await session.send("GET", server.url())
            #expect(reply.status == 302)
            #expect(reply.body == "moved")
        }
    }

    /// Its body is lost: URLSession gives it out with the redirect only.
    @Test func `one without a location is handed on`() async throws {
        try await withServer(script: { _ in .response(302, [("X-Here", "yes")]) }) { server, session in
            let reply = try await session.send("GET", server.url())
            #expect(reply.status == 302)
            #expect(reply.headers["X-Here"] == "yes")
        }
    }

    @Test(arguments: ["ftp://b.localhost/", "http://b localhost/", "javascript:0", "//", "http://%62.localhost/", "http://[", "a, b"])
    func `a location that is no URL is an error`(location: String) async throws {
        try await withServer(script: { _ in .redirect(302, to: location) }) { server, session in
            let error = await #expect(throws: HTTPTransportError.self) { try await session.send("GET", server.url()) }
            #expect(error?.code == .invalidRedirect)
            #expect(server.requests.count == 1)
        }
    }
}
