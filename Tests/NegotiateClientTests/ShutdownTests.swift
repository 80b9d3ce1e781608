import HTTPNegotiate
import TestSupport
import Testing

/// The shutdown of a client that makes its own connections; the owner of a given client shuts that down.
@Suite(.timeLimit(.minutes(5))) struct ShutdownTests {
    @Test(arguments: ClientLibrary.makingConnections) func `after a shutdown nothing is sent`(library: ClientLibrary) async throws {
        let client = library.makeClient(extension: try ScriptedExtension())
        try await ScriptedServer.run(ScriptedServer.protected) { server in
            _ = try await client.send(server.request())
            for _ in 1...2 { try await client.shutDown() }
            let error = await #expect(throws: HTTPTransportError.self) { try await client.send(server.request()) }
            #expect(error?.code == .shutDown)
            #expect(server.requests.count == 2)
            #expect(await server.hasClosed([1, 2]))
        }
    }

    @Test(arguments: ClientLibrary.makingConnections, [false, true])
    func `a shutdown cancels requests in progress`(library: ClientLibrary, onSecondLeg: Bool) async throws {
        let client = library.makeClient(extension: try ScriptedExtension())
        let script: ScriptedServer.Script = { $0.field("Authorization") == nil && onSecondLeg ? .challenge : .silence }
        try await ScriptedServer.run(script) { server in
            let call = Task { try await client.send(server.request()) }
            try #require(await server.events.contains(.request(connection: onSecondLeg ? 2 : 1)))
            try await client.shutDown()
            let error = await #expect(throws: HTTPTransportError.self) { try await call.value }
            #expect(error?.code == .shutDown)
        }
    }

    /// A call that waits for a ticket has no HTTP request that could be cancelled.
    @Test(arguments: ClientLibrary.makingConnections) func `a shutdown cancels a call that waits for a ticket`(library: ClientLibrary)
        async throws
    {
        let (asked, continuation) = AsyncStream<Void>.makeStream()
        let sso = try ScriptedExtension { _ in
            continuation.yield()
            for await _ in AsyncStream<Void>.makeStream().stream {}
            throw CancellationError()
        }
        let client = library.makeClient(extension: sso)
        try await ScriptedServer.run(ScriptedServer.protected) { server in
            let call = Task { try await client.send(server.request()) }
            for await _ in asked { break }
            try await client.shutDown()
            let error = await #expect(throws: HTTPTransportError.self) { try await call.value }
            #expect(error?.code == .shutDown)
        }
    }

    @Test(arguments: ClientLibrary.makingConnections) func `a client that is deallocated closes its connections`(library: ClientLibrary)
        async throws
    {
        try await ScriptedServer.run(ScriptedServer.protected) { server in
            do {
                let client = library.makeClient(extension: try ScriptedExtension())
                _ = try await client.send(server.request())
            }
            #expect(await server.hasClosed([1, 2]))
        }
    }
}
