import HTTPNegotiate
import NegotiateAsyncHTTPClient
import TestSupport
import Testing

/// Exchanges of several legs: all over one connection, or begun anew.
@Suite(.timeLimit(.minutes(1))) struct SeveralLegsTests {
    @Test func `the legs share a connection`() async throws {
        let script: ScriptedServer.Script = { request in
            switch request.field("Authorization") {
            case nil: .challenge
            case negotiate("first"), negotiate("leg 2"): .response(401, [("WWW-Authenticate", negotiate("more"))])
            default: .page()
            }
        }
        try await withServer(extension: ScriptedExtension(), script: script) { server, client in
            let answer = try await client.negotiate(server.request())
            #expect(answer.delivery == .authenticated)
            #expect(server.requests.map { $0.field("Authorization") } == [nil] + ["first", "leg 2", "leg 3"].map(negotiate))
            #expect(server.requests.map(\.connection) == [1, 2, 2, 2])
        }
    }

    @Test func `a leg is never sent over another connection`() async throws {
        let script: ScriptedServer.Script = { request in
            request.field("Authorization") == nil
                ? .challenge : .response(401, [("WWW-Authenticate", negotiate("more")), ("Connection", "close")])
        }
        let sso = try ScriptedExtension()
        try await withServer(extension: sso, script: script) { server, client in
            let error = await #expect(throws: AuthorizationError.self) { try await client.execute(server.request()) }
            #expect(error?.code == .failed)
            #expect(error?.message.contains("connection") == true)
            // Three attempts, each with a context of its own; a second leg was never written.
            #expect(server.requests.map { $0.field("Authorization") } == [nil] + Array(repeating: negotiate("first"), count: 3))
            #expect(sso.requests.count == 3)
        }
    }

    @Test func `a server that always wants one more leg is left`() async throws {
        let script: ScriptedServer.Script = { request in
            request.field("Authorization") == nil ? .challenge : .response(401, [("WWW-Authenticate", negotiate("more"))])
        }
        try await withServer(extension: ScriptedExtension(), script: script) { server, client in
            let error = await #expect(throws: AuthorizationError.self) { try await client.execute(server.request()) }
            #expect(error?.code == .tooManyLegs)
            #expect(server.requests.count == 5)
        }
    }
}
