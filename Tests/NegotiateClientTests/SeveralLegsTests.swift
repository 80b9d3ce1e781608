import HTTPNegotiate
import SignOnPolicy
import TestSupport
import Testing

/// Exchanges of several legs. A given client does not support them because it closes the connection after each leg.
@Suite(.timeLimit(.minutes(5))) struct SeveralLegsTests {
    @Test(arguments: ClientLibrary.makingConnections) func `the legs of an exchange share a connection`(library: ClientLibrary) async throws
    {
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
    func `an exchange with too many legs is an error`(library: ClientLibrary, limit: Int?) async throws {
        try await library.withServer(settings: ClientSettings { if let limit { $0.maximumLegs = limit } }, script: Self.askingForMore) {
            server,
            client in
            let error = await #expect(throws: AuthorizationError.self) { try await client.send(server.request()) }
            #expect(error?.code == .tooManyLegs)
            #expect(server.requests.count == 1 + (limit ?? 4))
        }
    }

    @Test func `a given client reports that it cannot send a second leg`() async throws {
        try await ClientLibrary.givenHTTPClient.withServer(script: Self.askingForMore) { server, client in
            let error = await #expect(throws: AuthorizationError.self) { try await client.send(server.request()) }
            #expect(error?.code == .failed)
            #expect(error?.message.contains("connection") == true)
            #expect(server.traffic.map(\.isAuthorized) == [false, true], "a second leg is never sent")
        }
    }
}
