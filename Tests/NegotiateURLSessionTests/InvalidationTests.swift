import Foundation
import FoundationNetworking
import HTTPNegotiate
import NegotiateURLSession
import TestSupport
import Testing

/// The invalidation of a session.
@Suite(.timeLimit(.minutes(5))) struct InvalidationTests {
    @Test func `after finishTasksAndInvalidate nothing is sent`() async throws {
        let session = NegotiatingURLSession(extension: try ScriptedExtension(), unboundTLS: .allowed, configuration: settings())
        try await ScriptedServer.run(ScriptedServer.protected) { server in
            _ = try await session.send("GET", server.url())
            for _ in 1...2 { session.finishTasksAndInvalidate() }
            let error = await #expect(throws: HTTPTransportError.self) { try await session.send("GET", server.url()) }
            #expect(error?.code == .shutDown)
            #expect(server.requests.count == 2)
            #expect(await server.hasClosed([1, 2]))
        }
    }

    @Test func `finishTasksAndInvalidate lets calls in progress finish, including later legs`() async throws {
        let (asked, continuation) = AsyncStream<Void>.makeStream()
        let (released, release) = AsyncStream<Void>.makeStream()
        let sso = try ScriptedExtension(answer: { request in
            continuation.yield()
            for await _ in released { break }
            return try ScriptedExtension.grant(for: request)
        })
        let session = NegotiatingURLSession(extension: sso, unboundTLS: .allowed, configuration: settings())
        try await ScriptedServer.run(ScriptedServer.protected) { server in
            async let call = session.send("GET", server.url())
            for await _ in asked { break }
            session.finishTasksAndInvalidate()
            await #expect(throws: HTTPTransportError.self) { try await session.send("GET", server.url()) }
            release.yield()
            let reply = try await call
            #expect(reply.delivery == .authenticated)
            #expect(await server.hasClosed([1, 2]))
        }
    }
}
