import Dispatch
import NIOCore
import NIOPosix
import Synchronization
import TestSupport
import Testing

@testable import KCM

/// What one client can make the others wait.
struct FairnessTests {
    @Test func `users take turns, and so do the connections of a user`() {
        var turns = TurnQueue<String>()
        for (connection, user) in [("a1", 1), ("a2", 1), ("a3", 1), ("b1", 2)] as [(String, UInt32)] { turns.append(connection, of: user) }
        var order: [String] = []
        for round in 0..<8 {
            guard let connection = turns.next() else { break }
            order.append(connection)
            // The first two have more to ask.
            if round < 6, connection != "a3" { turns.append(connection, of: connection.hasPrefix("a") ? 1 : 2) }
        }
        #expect(order == ["a1", "b1", "a2", "b1", "a3", "b1", "a1", "b1"])
        #expect(turns.next() == "a2")
        #expect(turns.isEmpty && turns.next() == nil)
    }

    /// Holds the server's thread in a closure that it calls, so that what the test sends meanwhile is there when the server goes on.
    private final class Gate: Sendable {
        private let state = Mutex((isArmed: false, isUsed: false, users: [UInt32]()))
        private let arrival = AsyncStream.makeStream(of: Void.self)
        private let opening = DispatchSemaphore(value: 0)

        /// Notes what is done for a user; the first call after ``arm()`` waits until the gate is opened.
        func note(_ user: UInt32) {
            let isHeld = state.withLock { state in
                guard state.isUsed else { return false }
                state.users.append(user)
                defer { state.isArmed = false }
                return state.isArmed
            }
            guard isHeld else { return }
            arrival.continuation.yield()
            // The server's thread alone waits here.
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

    /// The order in which requests are carried out is what counts here, not the time that they take.
    @Test(arguments: [1, 20])
    func `another user's request comes before requests that were sent ahead`(connections: Int) async throws {
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
                // The kernel has it once it is written.
                let request = requestBytes(.store, "b", Sample.ticket(1).bytes)
                try await other.channel.writeAndFlush(ByteBuffer(bytes: request)).get()
                gate.open()
                #expect(try await other.reply() == Reply())
                let before = try #require(gate.users.firstIndex(of: 2))
                // All but a few of the thousand are still to come.
                #expect(before < 30, "\(before) requests of the first user came first")
            }
            for channel in crowd { try? await channel.close().get() }
        }
    }

    /// Writing a long reply makes the socket unwritable and writable again, so that the connection queues from within its own turn. If that
    /// began a second chain of turns, the server would answer all of these before it looks at its sockets.
    @Test func `another user's request comes before long replies that were asked for ahead`() async throws {
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
                    // All of the crowd's requests are there when the first of them is carried out.
                    gate.arm()
                    try await setUp.send(requestBytes(.noOperation))
                    await gate.waitForArrival()
                    let ahead = (0..<50).flatMap { _ in requestBytes(.credentialList, "a") }
                    for channel in crowd { try await channel.writeAndFlush(ByteBuffer(bytes: ahead)).get() }
                    gate.arm()
                    gate.open()
                    // The other user's request comes after that.
                    await gate.waitForArrival()
                    let count = gate.users.count
                    try await other.channel.writeAndFlush(ByteBuffer(bytes: requestBytes(.store, "b", Sample.ticket(1).bytes))).get()
                    gate.open()
                    #expect(try await other.reply() == Reply())
                    let before = try #require(gate.users.firstIndex(of: 2)) - count
                    #expect(before < connections / 2, "\(before) requests of the first user came first")
                }
                for channel in crowd { try? await channel.close().get() }
            }
        }
    }

    /// A list that may not wait is not made: a client that reads none could have one made for each of its requests.
    @Test func `a reply for which there is no room is not made`() async throws {
        var client = Client.signedIn()
        _ = client.store(Sample.ticket(1).with { $0.ticket = [UInt8](repeating: 7, count: 8000) })
        for operation in [KCM.Operation.credentialList, .credentialIdentifiers] {
            let request = try Request(Array(requestBytes(operation, "").dropFirst(4)))
            #expect(client.store.decide(request, connection: &client.connection, now: 1500, replyLimit: 15).reply.code == .limitReached)
            #expect(client.store.decide(request, connection: &client.connection, now: 1500, replyLimit: 9000).reply.code == .ok)
        }
    }

    @Test func `a client that has shut down its side gets the replies`() async throws {
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
}
