import HTTPNegotiate
import TestSupport
import Testing

/// Exchanges of several legs, which a given client can't serve: each leg closes its connection there.
@Suite(.timeLimit(.minutes(5))) struct SeveralLegsTests {
    @Test(arguments: ClientLibrary.makingConnections) func `the legs share a connection`(library: ClientLibrary) async throws {
        let script: ScriptedServer.Script = { request in
            switch request.field("Authorization") {
            case nil: .challenge
            case negotiate("leg 3"): .page()
            default: .response(401, [("WWW-Authenticate", negotiate("more"))], body: "more")
            }
        }
        try await library.withServer(script: script) { server, client in
            let reply = try await client.send(server.request())
            #expect(reply.delivery == .authenticated)
            #expect(server.requests.map { $0.field("Authorization") } == [nil] + ["first", "leg 2", "leg 3"].map(negotiate))
            #expect(server.requests.map(\.connection) == [1, 2, 2, 2])
        }
    }

    private static let askingForMore: ScriptedServer.Script = { request in
        request.field("Authorization") == nil ? .challenge : .response(401, [("WWW-Authenticate", negotiate("more"))])
    }

    @Test(arguments: ClientLibrary.makingConnections, [nil, 1, 3])
    func `a server that always wants one more leg is left`(library: ClientLibrary, limit: Int?) async throws {
        try await library.withServer(settings: ClientSettings(maximumLegs: limit), script: Self.askingForMore) { server, client in
            let error = await #expect(throws: AuthorizationError.self) { try await client.send(server.request()) }
            #expect(error?.code == .tooManyLegs)
            #expect(server.requests.count == 1 + (limit ?? 4))
        }
    }

    @Test func `a given client says that it can't`() async throws {
        try await ClientLibrary.givenHTTPClient.withServer(script: Self.askingForMore) { server, client in
            let error = await #expect(throws: AuthorizationError.self) { try await client.send(server.request()) }
            #expect(error?.code == .failed)
            #expect(error?.message.contains("connection") == true)
            #expect(server.traffic.map(\.isAuthorized) == [false, true], "a second leg is never written")
        }
    }
}
