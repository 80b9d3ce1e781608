import Foundation
import FoundationNetworking
import HTTPNegotiate
import NegotiateURLSession
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(1))) struct InvalidationTests {
    private func session() throws -> NegotiatingURLSession {
        NegotiatingURLSession(extension: try scriptedExtension(), unboundTLS: .allowed, configuration: settings())
    }

    /// Waits until the server has seen its connections end.
    private func areClosed(_ connections: Set<Int>, of server: ScriptedServer) async -> Bool {
        var open = connections
        for await event in server.events {
            if case .closed(let connection) = event { open.remove(connection) }
            if open.isEmpty { return true }
        }
        return false
    }

    @Test(arguments: [false, true]) func `after it nothing is sent`(cancelling: Bool) async throws {
        let session = try session()
        try await ScriptedServer.run(ScriptedServer.protected) { server in
            _ = try await session.send("GET", server.url())
            for _ in 1...2 { if cancelling { session.invalidateAndCancel() } else { session.finishTasksAndInvalidate() } }
            let error = await #expect(throws: HTTPTransportError.self) { try await session.send("GET", server.url()) }
            #expect(error?.code == .shutDown)
            #expect(server.requests.count == 2)
            #expect(await areClosed([1, 2], of: server))
        }
    }

    @Test(arguments: [false, true]) func `cancelling ends what is in progress`(onSecondLeg: Bool) async throws {
        let session = try session()
        let script: ScriptedServer.Script = { $0.field("Authorization") == nil && onSecondLeg ? .challenge : .silence }
        try await ScriptedServer.run(script) { server in
            let call = Task { try await session.send("GET", server.url()) }
            try #require(await server.events.contains(.request(connection: onSecondLeg ? 2 : 1)))
            session.invalidateAndCancel()
            let error = await #expect(throws: HTTPTransportError.self) { try await call.value }
            #expect(error?.code == .shutDown)
        }
    }

    @Test func `finishing lets what is in progress end, legs included`() async throws {
        let (asked, continuation) = AsyncStream<Void>.makeStream()
        let (released, release) = AsyncStream<Void>.makeStream()
        let sso = try scriptedExtension(answer: { request in
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
            #expect(await areClosed([1, 2], of: server))
        }
    }

    @Test func `a session that is dropped closes its connections`() async throws {
        try await ScriptedServer.run(ScriptedServer.protected) { server in
            do {
                let session = try session()
                _ = try await session.send("GET", server.url())
            }
            #expect(await areClosed([1, 2], of: server))
        }
    }

    @Test func `a connection for the user's own credentials ends with its response`() async throws {
        let session = try session()
        try await ScriptedServer.run({ _ in .page() }) { server in
            _ = try await session.send("GET", server.url(), headers: ["Authorization": "Bearer mine"])
            #expect(await areClosed([1], of: server))
        }
    }
}
