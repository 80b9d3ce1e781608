import Foundation
import HTTPNegotiate
import TestSupport
import Testing

/// Which redirects are followed, and what is sent to the next host.
@Suite(.timeLimit(.minutes(5))) struct RedirectTests {
    @Test(arguments: ClientLibrary.allCases) func `each hop of a redirect gets its own decision and token`(library: ClientLibrary)
        async throws
    {
        let sso = try ScriptedExtension()
        let script: ScriptedServer.Script = { request in
            switch (request.target, request.field("Authorization")) {
            case (_, nil): .challenge
            case ("/start", _):
                .response(302, [("WWW-Authenticate", negotiate("final")), ("Location", "http://b.localhost:\(request.port)/end")])
            default: .page("the end")
            }
        }
        try await library.withServer(extension: sso, script: script) { server, client in
            let reply = try await client.send(server.request("a.localhost", "/start"))
            #expect(reply.body == "the end")
            #expect(reply.delivery == .authenticated)
            #expect(reply.url == server.url("b.localhost", "/end"))
            #expect(sso.requests.map { $0.url.host() } == ["a.localhost", "b.localhost"])
            #expect(server.requests.map { $0.field("Authorization") != nil } == [false, true, false, true])
            #expect(server.credentials.allSatisfy(library.mayCarry))
        }
    }

    @Test(arguments: ClientLibrary.allCases) func `a redirect to another host carries no credentials or cookies`(library: ClientLibrary)
        async throws
    {
        let sso = try ScriptedExtension()
        let script: ScriptedServer.Script = { request in
            guard request.target == "/start", request.field("Authorization") != nil else { return .challenge }
            return .response(
                307,
                [("WWW-Authenticate", negotiate("final")), ("Location", "http://elsewhere.localhost:\(request.port)/end")]
            )
        }
        try await library.withServer(extension: sso, script: script) { server, client in
            let fields = ["Cookie": "session=1", "Proxy-Authorization": "Basic QQ==", "X-Kept": "yes"]
            let reply = try await client.send(server.request("a.localhost", "/start", fields: fields))
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

    @Test(arguments: ClientLibrary.allCases) func `a redirect without the server's proof is an error`(library: ClientLibrary) async throws {
        let script: ScriptedServer.Script = { $0.field("Authorization") == nil ? .challenge : .redirect(302, to: "/end") }
        try await library.withServer(script: script) { server, client in
            let error = await #expect(throws: AuthorizationError.self) { try await client.send(server.request()) }
            #expect(error?.code == .mutualAuthenticationFailed)
            #expect(server.requests.count == 2)
        }
    }

    @Test(
        arguments: ClientLibrary.allCases,
        [
            (301, "POST", "GET"), (302, "POST", "GET"), (303, "POST", "GET"), (307, "POST", "POST"), (308, "POST", "POST"),
            (301, "PUT", "PUT"), (302, "PUT", "PUT"), (303, "PUT", "GET"), (303, "HEAD", "HEAD"), (301, "HEAD", "HEAD"),
            (302, "DELETE", "DELETE"),
        ]
    )
    func `a redirect's status decides about the method and the body`(
        library: ClientLibrary,
        hop: (status: Int, method: String, expected: String)
    ) async throws {
        let script: ScriptedServer.Script = { $0.target == "/start" ? .redirect(hop.status, to: "end") : .page(token: nil) }
        try await library.withServer(script: script) { server, client in
            var request = server.request("a.localhost", "/start", method: hop.method)
            let hasBody = hop.method == "POST" || hop.method == "PUT"
            if hasBody {
                request.body = .text("data")
                request.fields = ["Content-Type": "text/plain"]
            }
            _ = try await client.send(request)
            let last = try #require(server.requests.last)
            #expect(last.target == "/end")
            #expect(last.method == hop.expected)
            #expect(last.body == (hasBody && hop.expected == hop.method ? "data" : ""))
            #expect((last.field("Content-Type") != nil) == (hasBody && hop.expected == hop.method))
        }
    }

    @Test(arguments: ClientLibrary.allCases) func `a redirect is not followed if the body cannot be sent again`(library: ClientLibrary)
        async throws
    {
        try await library.withServer(script: { _ in .redirect(307, to: "/end") }) { server, client in
            let reply = try await client.send(server.request("elsewhere.localhost", "/start", method: "POST", body: .stream(["data"])))
            #expect(reply.status == 307)
            #expect(reply.body == "moved")
            #expect(server.requests.count == 1)
        }
    }

    @Test(arguments: ClientLibrary.allCases, [nil, 1]) func `the number of redirects is limited`(library: ClientLibrary, limit: Int?)
        async throws
    {
        let settings = ClientSettings { if let limit { $0.maximumRedirects = limit } }
        try await library.withServer(settings: settings, script: { _ in .redirect(302, to: "/again") }) { server, client in
            let error = await #expect(throws: HTTPTransportError.self) { try await client.send(server.request()) }
            #expect(error?.code == .tooManyRedirects)
            #expect(server.requests.count == (limit ?? 5) + 1)
        }
    }

    @Test(arguments: ClientLibrary.allCases, ["/end", "http://["])
    func `with a limit of zero a redirect is delivered to the caller`(library: ClientLibrary, location: String) async throws {
        let settings = ClientSettings { $0.maximumRedirects = 0 }
        try await library.withServer(settings: settings, script: { _ in .redirect(302, to: location) }) { server, client in
            let reply = try await client.send(server.request())
            #expect(reply.status == 302)
            #expect(reply.field("Location") == location)
        }
    }

    @Test(arguments: ClientLibrary.allCases) func `a redirect without a Location is delivered to the caller`(library: ClientLibrary)
        async throws
    {
        try await library.withServer(script: { _ in .response(302, [("X-Here", "yes")]) }) { server, client in
            let reply = try await client.send(server.request())
            #expect(reply.status == 302)
            #expect(reply.field("X-Here") == "yes")
        }
    }

    @Test(
        arguments: ClientLibrary.allCases,
        ["ftp://b.localhost/", "http://b localhost/", "javascript:0", "//", "http://%62.localhost/", "http://[", "a, b"]
    )
    func `a Location that is not an HTTP URL is an invalid redirect`(library: ClientLibrary, location: String) async throws {
        try await library.withServer(script: { _ in .redirect(302, to: location) }) { server, client in
            let error = await #expect(throws: HTTPTransportError.self) { try await client.send(server.request()) }
            #expect(error?.code == .invalidRedirect)
            #expect(server.requests.count == 1)
        }
    }
}
