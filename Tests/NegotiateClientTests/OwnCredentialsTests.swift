import Foundation
import HTTPNegotiate
import SignOnPolicy
import TestSupport
import Testing

/// Requests with credentials that the caller sets.
@Suite(.timeLimit(.minutes(5))) struct OwnCredentialsTests {
    @Test(arguments: ClientLibrary.allCases) func `a challenge to a request with own credentials is not answered`(library: ClientLibrary)
        async throws
    {
        let sso = try ScriptedExtension()
        try await library.withServer(extension: sso, script: { _ in .challenge }) { server, client in
            let reply = try await client.send(server.request(fields: ["authorization": "Bearer mine"]))
            #expect(reply.status == 401)
            #expect(reply.delivery == .unauthenticated)
            #expect(server.requests.map { $0.field("Authorization") } == ["Bearer mine"])
            #expect(sso.requests.isEmpty)
        }
    }

    @Test(arguments: ClientLibrary.allCases) func `every request with own credentials gets its own connection`(library: ClientLibrary)
        async throws
    {
        try await library.withServer(script: { _ in .page() }) { server, client in
            for value in ["Basic QQ==", "Basic Qg==", nil, "Basic QQ=="] {
                _ = try await client.send(server.request(fields: value.map { ["Authorization": $0] } ?? [:]))
            }
            #expect(server.credentials.allSatisfy(library.mayCarry))
            if library.makesConnections { #expect(server.requests.map(\.connection) == [1, 2, 3, 4]) }
        }
    }

    @Test(arguments: ClientLibrary.allCases) func `the connection of a request with own credentials is closed after the response`(
        library: ClientLibrary
    ) async throws {
        try await library.withServer(script: { _ in .page() }) { server, client in
            _ = try await client.send(server.request(fields: ["Authorization": "Bearer mine"]))
            #expect(await server.hasClosed([1]))
        }
    }

    @Test(arguments: ClientLibrary.allCases)
    func `after a token, own credentials do not use its connection`(library: ClientLibrary) async throws {
        try await library.withServer(script: ScriptedServer.protected) { server, client in
            for fields in [[:], ["Authorization": "Basic QQ=="], [:]] { _ = try await client.send(server.request(fields: fields)) }
            #expect(server.credentials.allSatisfy(library.mayCarry))
            if library.makesConnections { #expect(server.requests.map(\.connection) == [1, 2, 3, 1, 2]) }
        }
    }

    @Test(arguments: ClientLibrary.allCases) func `own credentials are not sent to another origin`(library: ClientLibrary) async throws {
        let sso = try ScriptedExtension()
        let script: ScriptedServer.Script = { request in
            switch request.target {
            case "/1": .redirect(302, to: "/2")
            case "/2": .redirect(302, to: "http://b.localhost:\(request.port)/3")
            default: .challenge
            }
        }
        try await library.withServer(extension: sso, script: script) { server, client in
            let reply = try await client.send(server.request("a.localhost", "/1", fields: ["Authorization": "Bearer mine"]))
            #expect(reply.status == 401)
            #expect(server.requests.map { $0.field("Authorization") } == ["Bearer mine", "Bearer mine", nil])
            #expect(sso.requests.isEmpty)
        }
    }

    @Test(arguments: ClientLibrary.allCases) func `a name and a password in the URL are not sent`(library: ClientLibrary) async throws {
        let sso = try ScriptedExtension()
        try await library.withServer(extension: sso, script: ScriptedServer.protected) { server, client in
            let url = "http://user%20name:p%40ss@a.localhost:\(server.port)/x?y=%20#z"
            let reply = try await client.send(ClientRequest(url: url))
            #expect(reply.delivery == .authenticated)
            #expect(server.requests.map { $0.field("Authorization") } == [nil, negotiate("first")])
            #expect(server.requests.map(\.target) == ["/x?y=%20", "/x?y=%20"])
            #expect(sso.requests.map { $0.url.user() } == [nil])
        }
    }

    @Test(arguments: ClientLibrary.allCases) func `a name and a password in a redirect's URL are not sent`(library: ClientLibrary)
        async throws
    {
        let script: ScriptedServer.Script = { request in
            request.target == "/1" ? .redirect(302, to: "http://user:pass@elsewhere.localhost:\(request.port)/2") : .challenge
        }
        try await library.withServer(script: script) { server, client in
            let reply = try await client.send(server.request("a.localhost", "/1"))
            #expect(reply.status == 401)
            #expect(server.requests.map(\.target) == ["/1", "/2"])
            #expect(server.requests.map { $0.field("Authorization") } == [nil, nil])
        }
    }
}
