import SignOnPolicy
import TestSupport
import Testing

/// A call ends at its deadline and when its task is cancelled, in every phase.
@Suite(.timeLimit(.minutes(5))) struct CancellationTests {
    /// The phases in which a call can be waiting.
    enum Phase: CaseIterable, Sendable {
        case firstLeg, credentials, drain, secondLeg

        var script: ScriptedServer.Script {
            switch self {
            case .firstLeg: { _ in .silence }
            case .credentials: ScriptedServer.protected
            case .drain: { _ in .partial("HTTP/1.1 401 No\r\nWWW-Authenticate: Negotiate\r\nContent-Length: 100\r\n\r\nnot all") }
            case .secondLeg: { $0.field("Authorization") == nil ? .challenge : .silence }
            }
        }

        /// An extension that signals each request, and then answers or hangs.
        func makeExtension(asked: AsyncStream<Void>.Continuation) throws -> ScriptedExtension {
            try ScriptedExtension { request in
                asked.yield()
                guard self == .credentials else { return try ScriptedExtension.grant(for: request) }
                for await _ in AsyncStream<Void>.makeStream().stream {}
                throw CancellationError()
            }
        }
    }

    @Test(arguments: ClientLibrary.allCases, Phase.allCases)
    func `the deadline applies to every phase of a call`(library: ClientLibrary, phase: Phase) async throws {
        let (_, continuation) = AsyncStream<Void>.makeStream()
        let sso = try phase.makeExtension(asked: continuation)
        let settings = ClientSettings(timeout: .milliseconds(200))
        try await library.withServer(extension: sso, settings: settings, script: phase.script) { server, client in
            let error = await #expect(throws: AuthorizationError.self) { try await client.send(server.request()) }
            #expect(error?.code == .timedOut)
        }
    }

    /// Callers write `.seconds(Int64.max)` for "no limit".
    @Test(arguments: ClientLibrary.allCases, [Duration.seconds(Int64.max), .seconds(-5), .zero])
    func `any timeout is accepted, however long or negative`(library: ClientLibrary, timeout: Duration) async throws {
        let settings = ClientSettings(timeout: timeout)
        let script: ScriptedServer.Script = { timeout > .zero ? ScriptedServer.protected($0) : .silence }
        try await library.withServer(settings: settings, script: script) { server, client in
            let call = Task { try await client.send(server.request()) }
            if timeout > .zero {
                let status = try await call.value.status
                #expect(status == 200)
            } else {
                let error = await #expect(throws: AuthorizationError.self) { try await call.value }
                #expect(error?.code == .timedOut)
            }
        }
    }

    @Test(arguments: ClientLibrary.allCases, Phase.allCases) func `a cancelled call ends in every phase`(
        library: ClientLibrary,
        phase: Phase
    ) async throws {
        let (asked, continuation) = AsyncStream<Void>.makeStream()
        let sso = try phase.makeExtension(asked: continuation)
        try await library.withServer(extension: sso, script: phase.script) { server, client in
            let call = Task { try await client.send(server.request()) }
            var events = server.events.makeAsyncIterator()
            var connection = 1
            #expect(await events.next() == .request(connection: connection))
            switch phase {
            case .firstLeg: break
            case .credentials, .drain: for await _ in asked { break }
            case .secondLeg:
                // A given client chooses the connection itself.
                if library.makesConnections { connection = 2 }
                #expect(await events.next() == .request(connection: connection))
            }
            call.cancel()
            await #expect(throws: CancellationError.self) { try await call.value }
            // In the credentials phase the response is complete, so its connection stays open for the next request.
            if phase != .credentials { #expect(await events.next() == .closed(connection: connection)) }
        }
    }

    @Test(arguments: ClientLibrary.allCases)
    func `a call cancelled before it begins sends nothing`(library: ClientLibrary) async throws {
        try await library.withServer(script: { _ in .page() }) { server, client in
            let call = Task {
                for await _ in AsyncStream<Void>.makeStream().stream {}
                return try await client.send(server.request())
            }
            call.cancel()
            await #expect(throws: CancellationError.self) { try await call.value }
            #expect(server.requests.isEmpty)
        }
    }
}
