import Dispatch
import NIOCore
import NIOPosix
import Synchronization
import TestSupport
import Testing

@testable import KCM

/// How little one client can delay the requests of the others.
struct FairnessTests {
    @Test func `users take turns, and so do the connections of each user`() {
        var turns = TurnQueue<String>()
        for (connection, user) in [("a1", 1), ("a2", 1), ("a3", 1), ("b1", 2)] as [(String, UInt32)] { turns.append(connection, of: user) }
        var order: [String] = []
        for round in 0..<8 {
            guard let connection = turns.next() else { break }
            order.append(connection)
            // Every connection except a3 has more requests.
            if round < 6, connection != "a3" { turns.append(connection, of: connection.hasPrefix("a") ? 1 : 2) }
        }
        #expect(order == ["a1", "b1", "a2", "b1", "a3", "b1", "a1", "b1"])
        #expect(turns.next() == "a2")
        #expect(turns.isEmpty && turns.next() == nil)
    }

    /// Blocks the server's thread in a closure, so that requests sent in the meantime have arrived when the server continues.
    private final class Gate: Sendable {
        private let state = Mutex((isArmed: false, isUsed: false, users: [UInt32]()))
        private let arrival = AsyncStream.makeStream(of: Void.self)
        private let opening = DispatchSemaphore(value: 0)

        /// Records a call for a user; the first call after ``arm()`` blocks until the gate is opened.
        func note(_ user: UInt32) {
            let isHeld = state.withLock { state in
                guard state.isUsed else { return false }
                state.users.append(user)
                defer { state.isArmed = false }
                return state.isArmed
            }
            guard isHeld else { return }
            arrival.continuation.yield()
            // Only the server's thread waits here.
            opening.wait()
        }

        func arm() { state.withLock { ($0.isArmed, $0.isUsed) = (true, true) } }

        func waitForArrival() async { for await _ in arrival.stream { return } }

        func open() { opening.signal() }

        var users: [UInt32] { state.withLock { $0.users } }
    }

    private func connect(_ running: RunningServer) async throws -> any Channel {
        try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton).connect(unixDomainSocketPath: running.path).get()
    }

    /// The test checks the order in which requests are carried out, not how long they take.
    @Test(arguments: [1, 20])
    func `one user's pipelined requests do not delay another user's request`(connections: Int) async throws {
        let next = Mutex<UInt32>(1)
        let gate = Gate()
        var options = KCMServer.Options.forEveryone()
        options.limits.turnTime = .zero
        options.peer = { _ in PeerCredential(processID: 1, userID: next.withLock { $0 }, groupID: 1) }
        options.observer = { gate.note($0.user) }
        try await withServer(options) { running in
            try await withConnection(running.path) { setUp async throws in
                #expect(try await setUp.code(.initialize, "a", Sample.alice) == .ok)
            }
            // Until the server has noticed its end, that connection would count as one of the crowd. The last of the crowd could then be
            // accepted as the other user's, and the gate would wait for ever.
            #expect(try await comesTrue { await running.server.counts.first?.connections == 0 })
            var crowd: [any Channel] = []
            for count in 1...connections {
                crowd.append(try await connect(running))
                #expect(try await comesTrue { await running.server.counts.first?.connections == count })
            }
            next.withLock { $0 = 2 }
            try await withConnection(running.path) { other async throws in
                #expect(try await other.code(.initialize, "b", Sample.bob) == .ok)
                gate.arm()
                let ahead = (0..<1000 / connections).flatMap { requestBytes(.store, "a", Sample.ticket($0).bytes) }
                for channel in crowd { channel.writeAndFlush(ByteBuffer(bytes: ahead), promise: nil) }
                await gate.waitForArrival()
                // Once written, the request is in the kernel's buffer.
                let request = requestBytes(.store, "b", Sample.ticket(1).bytes)
                try await other.channel.writeAndFlush(ByteBuffer(bytes: request)).get()
                gate.open()
                #expect(try await other.reply() == Reply())
                let before = try #require(gate.users.firstIndex(of: 2))
                // Nearly all of the thousand requests are still waiting.
                #expect(before < 30, "\(before) requests of the first user were served first")
            }
            for channel in crowd { try? await channel.close().get() }
        }
    }

    /// Writing a long reply makes the socket unwritable and then writable again, so the connection queues itself during its own turn. If
    /// that started a second chain of turns, the server would answer all of these requests before it reads its sockets again.
    @Test func `one user's pipelined requests with long replies do not delay another user's request`() async throws {
        let connections = 20
        let next = Mutex<UInt32>(1)
        let gate = Gate()
        var options = KCMServer.Options.forEveryone()
        options.limits.turnTime = .zero
        options.peer = { _ in PeerCredential(processID: 1, userID: next.withLock { $0 }, groupID: 1) }
        // Called once for each request, before it is carried out, and once for each change.
        options.now = {
            gate.note(1)
            return 1500
        }
        options.observer = { if $0.user == 2 { gate.note(2) } }
        try await withServer(options) { running in
            try await withConnection(running.path) { setUp async throws in
                let large = Sample.ticket(1).with { $0.ticket = [UInt8](repeating: 7, count: 100_000) }
                #expect(try await setUp.code(.initialize, "a", Sample.alice) == .ok)
                #expect(try await setUp.code(.store, "a", large.bytes) == .ok)
                var crowd: [any Channel] = []
                for count in 1...connections {
                    let bootstrap = ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton).channelOption(.autoRead, value: false)
                    crowd.append(try await bootstrap.connect(unixDomainSocketPath: running.path).get())
                    #expect(try await comesTrue { await running.server.counts.first?.connections == 1 + count })
                }
                next.withLock { $0 = 2 }
                try await withConnection(running.path) { other async throws in
                    #expect(try await other.code(.initialize, "b", Sample.bob) == .ok)
                    // All of the crowd's requests have arrived when the first of them is carried out.
                    gate.arm()
                    try await setUp.send(requestBytes(.noOperation))
                    await gate.waitForArrival()
                    let ahead = (0..<50).flatMap { _ in requestBytes(.credentialList, "a") }
                    for channel in crowd { try await channel.writeAndFlush(ByteBuffer(bytes: ahead)).get() }
                    gate.arm()
                    gate.open()
                    // The other user's request arrives after that.
                    await gate.waitForArrival()
                    let count = gate.users.count
                    try await other.channel.writeAndFlush(ByteBuffer(bytes: requestBytes(.store, "b", Sample.ticket(1).bytes))).get()
                    gate.open()
                    #expect(try await other.reply() == Reply())
                    let before = try #require(gate.users.firstIndex(of: 2)) - count
                    #expect(before < connections / 2, "\(before) requests of the first user were served first")
                }
                for channel in crowd { try? await channel.close().get() }
            }
        }
    }

    /// The removal takes 47 turns. The other user's request is in the kernel's buffer during the first one.
    @Test func `a removal of many tickets does not delay another user's request`() async throws {
        let next = Mutex<UInt32>(1)
        let gate = Gate()
        var options = KCMServer.Options.forEveryone()
        options.limits.turnTime = .zero
        options.peer = { _ in PeerCredential(processID: 1, userID: next.withLock { $0 }, groupID: 1) }
        options.observer = { gate.note($0.user) }
        try await withServer(options) { running in
            try await withConnection(running.path) { connection async throws in
                #expect(try await connection.code(.replace, "a", replacement((0..<3000).map { Sample.ticket($0) })) == .ok)
                next.withLock { $0 = 2 }
                try await withConnection(running.path) { other async throws in
                    #expect(try await other.code(.initialize, "b", Sample.bob) == .ok)
                    gate.arm()
                    // The second request arrives with the first, and is answered after it.
                    let removal = requestBytes(.remove, "a", Fields(client: nil, server: nil).patternBytes())
                    try await connection.send(removal + requestBytes(.credentialList, "a"))
                    await gate.waitForArrival()
                    let request = requestBytes(.store, "b", Sample.ticket(1).bytes)
                    try await other.channel.writeAndFlush(ByteBuffer(bytes: request)).get()
                    gate.open()
                    #expect(try await other.reply() == Reply())
                    #expect(try await connection.reply() == Reply())
                    #expect(try await connection.reply()?.body == [0, 0, 0, 0])
                    let before = try #require(gate.users.firstIndex(of: 2))
                    #expect(before < 30, "\(before) turns of the first user were taken first")
                    #expect(gate.users.count == 47 + 1)
                }
            }
        }
    }

    /// Otherwise a client that reads no replies could make the server build a list for each of its requests.
    @Test func `a list reply that exceeds the room for waiting replies is refused`() async throws {
        var client = Client.signedIn()
        _ = client.store(Sample.ticket(1).with { $0.ticket = [UInt8](repeating: 7, count: 8000) })
        for operation in [KCM.Operation.credentialList, .credentialIdentifiers] {
            let request = try Request(Array(requestBytes(operation, "").dropFirst(4)))
            #expect(client.store.decide(request, connection: &client.connection, now: 1500, replyLimit: 15).reply.code == .limitReached)
            #expect(client.store.decide(request, connection: &client.connection, now: 1500, replyLimit: 9000).reply.code == .ok)
        }
    }

    @Test func `a client that closes its sending side still gets its replies`() async throws {
        try await withServer { running in
            try await withConnection(running.path) { connection async throws in
                try await connection.channel.setOption(.allowRemoteHalfClosure, value: true).get()
                let requests = (0..<100).flatMap { requestBytes(.initialize, "cache \($0 % 50)", Sample.alice) }
                try await connection.channel.writeAndFlush(ByteBuffer(bytes: requests)).get()
                try await connection.channel.close(mode: .output).get()
                for _ in 0..<100 { #expect(try await connection.reply() == Reply()) }
                #expect(try await connection.reply() == nil)
            }
        }
    }

    /// Connections that wait for their turn refer to the service, and the service's queue to them.
    @Test func `a server that stops before it answered every request releases its caches`() async throws {
        final class Marker: Sendable {}
        weak var held: Marker?
        do {
            let marker = Marker()
            held = marker
            var options = KCMServer.Options.forEveryone(now: { withExtendedLifetime(marker) { 1500 } })
            // One request a turn, with a pause after each: the requests below take longer than the server waits when it stops.
            options.limits.turnTime = .zero
            try await withServer(options) { running in
                for _ in 0..<20 {
                    let channel = try await connect(running)
                    let requests = (0..<3000).flatMap { _ in requestBytes(.noOperation) }
                    try await channel.writeAndFlush(ByteBuffer(bytes: requests)).get()
                }
            }
        }
        #expect(try await comesTrue { held == nil })
    }
}
