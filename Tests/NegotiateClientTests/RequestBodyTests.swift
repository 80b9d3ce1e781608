import HTTPNegotiate
import SignOnPolicy
import TestSupport
import Testing

/// Request bodies, which a challenged request must send again.
@Suite(.timeLimit(.minutes(5))) struct RequestBodyTests {
    static let stream = ClientRequest.Body.stream(["one ", "two ", "three"])

    @Test(arguments: ClientLibrary.allCases) func `a body in memory is sent again`(library: ClientLibrary) async throws {
        try await library.withServer(script: ScriptedServer.protected) { server, client in
            let reply = try await client.send(server.request(method: "POST", body: .text("name=alice")))
            #expect(reply.status == 200)
            #expect(server.requests.map(\.method) == ["POST", "POST"])
            #expect(server.requests.map(\.body) == ["name=alice", "name=alice"])
        }
    }

    @Test(arguments: ClientLibrary.allCases) func `a body in memory is sent again regardless of its size`(library: ClientLibrary)
        async throws
    {
        let settings = ClientSettings { $0.maximumReplayableBody = 10 }
        try await library.withServer(settings: settings, script: ScriptedServer.protected) { server, client in
            let body = ClientRequest.Body.text(String(repeating: "x", count: 1000))
            let reply = try await client.send(server.request(method: "PUT", body: body))
            #expect(reply.status == 200)
            #expect(server.requests.map(\.body.count) == [1000, 1000])
        }
    }

    @Test(arguments: ClientLibrary.allCases) func `a short body stream is buffered and sent again`(library: ClientLibrary) async throws {
        try await library.withServer(script: ScriptedServer.protected) { server, client in
            let reply = try await client.send(server.request(method: "POST", body: Self.stream))
            #expect(reply.status == 200)
            #expect(server.requests.map(\.body) == ["one two three", "one two three"])
            #expect(server.requests.map { $0.field("Content-Length") } == ["13", "13"])
        }
    }

    @Test(arguments: ClientLibrary.allCases, [0, 12])
    func `a body stream over the limit is an error before anything is sent`(library: ClientLibrary, limit: Int) async throws {
        let settings = ClientSettings { $0.maximumReplayableBody = limit }
        try await library.withServer(settings: settings, script: ScriptedServer.protected) { server, client in
            let error = await #expect(throws: AuthorizationError.self) {
                try await client.send(server.request(method: "POST", body: Self.stream))
            }
            #expect(error?.code == .bodyNotReplayable)
            #expect(server.requests.isEmpty)
        }
    }

    @Test(arguments: ClientLibrary.allCases) func `a body stream to an uncovered host is sent without buffering`(library: ClientLibrary)
        async throws
    {
        let settings = ClientSettings { $0.maximumReplayableBody = 10 }
        try await library.withServer(settings: settings, script: { _ in .challenge }) { server, client in
            let reply = try await client.send(server.request("elsewhere.localhost", method: "POST", body: Self.stream))
            #expect(reply.status == 401)
            #expect(server.requests.map(\.body) == ["one two three"])
            #expect(server.requests.map { $0.field("Content-Length") } == [nil])
        }
    }

    @Test(arguments: ClientLibrary.allCases) func `a body stream that fails is not sent`(library: ClientLibrary) async throws {
        try await library.withServer(script: ScriptedServer.protected) { server, client in
            await #expect(throws: (any Error).self) { try await client.send(server.request(method: "POST", body: .brokenStream)) }
            #expect(server.requests.isEmpty)
        }
    }

    @Test(arguments: ClientLibrary.allCases, ["DELETE", "HEAD", "OPTIONS", "PATCH", "POST", "PUT", "PROPFIND"])
    func `a request without a body is sent again regardless of its method`(library: ClientLibrary, method: String) async throws {
        try await library.withServer(script: ScriptedServer.protected) { server, client in
            let reply = try await client.send(server.request(method: method))
            #expect(reply.delivery == .authenticated)
            #expect(server.requests.map(\.method) == [method, method])
        }
    }
}
