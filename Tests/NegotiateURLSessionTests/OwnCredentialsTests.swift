import Foundation
import FoundationNetworking
import HTTPNegotiate
import NegotiateURLSession
import TestSupport
import Testing

/// Credentials that the user brings, and those that URLSession would find by itself.
@Suite(.timeLimit(.minutes(1))) struct OwnCredentialsTests {
    @Test func `they end the matter`() async throws {
        let sso = try scriptedExtension()
        try await withServer(extension: sso, script: { _ in .challenge }) { server, session in
            let reply = try await session.send("GET", server.url(), headers: ["authorization": "Bearer mine"])
            #expect(reply.status == 401)
            #expect(reply.delivery == .unauthenticated)
            #expect(server.requests.map { $0.field("Authorization") } == ["Bearer mine"])
            #expect(sso.requests.isEmpty)
        }
    }

    @Test func `they have a connection each`() async throws {
        try await withServer(script: { _ in .page() }) { server, session in
            for value in ["Basic QQ==", "Basic Qg==", nil, "Basic QQ=="] {
                _ = try await session.send("GET", server.url(), headers: value.map { ["Authorization": $0] } ?? [:])
            }
            #expect(server.requests.map(\.connection) == [1, 2, 3, 4])
        }
    }

    @Test func `they stay with their origin`() async throws {
        let sso = try scriptedExtension()
        let script: ScriptedServer.Script = { request in
            switch request.target {
            case "/1": .redirect(302, to: "/2")
            case "/2": .redirect(302, to: "http://b.localhost:\(request.port)/3")
            default: .challenge
            }
        }
        try await withServer(extension: sso, script: script) { server, session in
            let reply = try await session.send("GET", server.url("a.localhost", "/1"), headers: ["Authorization": "Bearer mine"])
            #expect(reply.status == 401)
            #expect(server.requests.map { $0.field("Authorization") } == ["Bearer mine", "Bearer mine", nil])
            #expect(sso.requests.isEmpty)
        }
    }

    @Test func `among the template's fields they are each request's own`() async throws {
        let configuration = settings { $0.session.httpAdditionalHeaders = ["authorization": "Bearer mine", "X-Kept": "yes"] }
        let script: ScriptedServer.Script = { request in
            request.target == "/1" ? .redirect(302, to: "http://b.localhost:\(request.port)/2") : .challenge
        }
        try await withServer(configuration: configuration, script: script) { server, session in
            let reply = try await session.send("GET", server.url("a.localhost", "/1"))
            #expect(reply.status == 401)
            #expect(server.requests.map { $0.field("Authorization") } == ["Bearer mine", nil])
            #expect(server.requests.map { $0.field("X-Kept") } == ["yes", "yes"])
        }
    }

    @Test func `a name and a password in the URL are not sent`() async throws {
        let sso = try scriptedExtension()
        try await withServer(extension: sso, script: ScriptedServer.protected) { server, session in
            let reply = try await session.send("GET", "http://user%20name:p%40ss@a.localhost:\(server.port)/x?y=%20#z")
            #expect(reply.delivery == .authenticated)
            #expect(server.requests.map { $0.field("Authorization") } == [nil, negotiate("first")])
            #expect(server.requests.map(\.target) == ["/x?y=%20", "/x?y=%20"])
            #expect(sso.requests.map { $0.url.user() } == [nil])
        }
    }

    @Test func `nor are those of a redirect`() async throws {
        let script: ScriptedServer.Script = { request in
            request.target == "/1" ? .redirect(302, to: "http://user:pass@elsewhere.localhost:\(request.port)/2") : .challenge
        }
        try await withServer(script: script) { server, session in
            let reply = try await session.send("GET", server.url("a.localhost", "/1"))
            #expect(reply.status == 401)
            #expect(server.requests.map(\.target) == ["/1", "/2"])
            #expect(server.requests.map { $0.field("Authorization") } == [nil, nil])
        }
    }

    @Test func `stored ones are not used`() async throws {
        try await withServer(script: { _ in .response(401, [("WWW-Authenticate", #"Basic realm="stored""#)]) }) { server, _ in
            let storage = URLCredentialStorage()
            let space = URLProtectionSpace(
                host: "a.localhost",
                port: server.port,
                protocol: "http",
                realm: "stored",
                authenticationMethod: NSURLAuthenticationMethodHTTPBasic
            )
            storage.setDefaultCredential(URLCredential(user: "user", password: "pass", persistence: .forSession), for: space)
            let session = NegotiatingURLSession(
                extension: try scriptedExtension(),
                unboundTLS: .allowed,
                configuration: settings { $0.session.urlCredentialStorage = storage }
            )
            let reply = try await session.send("GET", server.url())
            #expect(reply.status == 401)
            #expect(server.requests.map { $0.field("Authorization") } == [nil])
        }
    }
}
