import Foundation
import NIOCore
import NIOPosix
import Synchronization
import TestSupport
import Testing

@testable import KCM

/// Limits across users, which prevent one user from exhausting the server. The test sets the UIDs, because the kernel would report its own.
@Suite(.timeLimit(.minutes(5))) struct TotalLimitTests {
    /// The UID of the next connection.
    private final class NextUser: Sendable {
        private let number = Mutex<UInt32>(1)
        var value: UInt32 {
            get { number.withLock { $0 } }
            set { number.withLock { $0 = newValue } }
        }
    }
    private let next = NextUser()

    private func withUsers(
        _ totals: ServerTotals,
        directory: String? = nil,
        change: (inout KCMServer.Options) -> Void = { _ in },
        _ body: (RunningServer) async throws -> Void
    ) async throws {
        var options = KCMServer.Options.forEveryone(directory: directory)
        options.limits.totals = totals
        change(&options)
        options.peer = { [next] _ in PeerCredential(processID: 1, userID: next.value, groupID: 1) }
        try await withServer(options, body)
    }

    /// Opens a connection as a user, and runs the body after the first reply.
    private nonisolated(nonsending) func connect(
        _ user: UInt32,
        _ running: RunningServer,
        expecting code: ReplyCode? = .ok,
        _ body: nonisolated(nonsending) (inout KCMConnection) async throws -> Void
    ) async throws {
        next.value = user
        try await withConnection(running.path) { connection async throws in
            // A connection that is refused without a reply may be closed before the request is sent.
            let answer = try? await connection.code(.noOperation)
            #expect(answer == code, "user \(user)")
            try await body(&connection)
        }
    }

    /// Opens connections one after the other, runs the body, and sends a second request on each before it is closed.
    private nonisolated(nonsending) func hold(
        _ steps: ArraySlice<(UInt32, ReplyCode?)>,
        _ running: RunningServer,
        _ body: nonisolated(nonsending) () async throws -> Void
    ) async throws {
        guard let (user, code) = steps.first else { return try await body() }
        try await connect(user, running, expecting: code) { connection async throws in
            try await hold(steps.dropFirst(), running, body)
            let again = try? await connection.code(.noOperation)
            #expect(again == code, "user \(user)")
        }
    }

    @Test func `one user cannot take all of the server's connections`() async throws {
        try await withUsers(ServerTotals(connections: 8, refusedConnections: 2)) { running in
            let first = [(UInt32, ReplyCode?)](repeating: (1, .ok), count: 6) + [(1, .limitReached), (1, .limitReached), (1, nil)]
            try await hold((first + [(2, .ok), (2, .ok)])[...], running) { () async throws in
                #expect(await running.server.counts.map(\.connections) == [8, 2])
            }
            #expect(try await comesTrue { await running.server.counts.isEmpty })
            try await connect(3, running) { _ in }
        }
    }

    /// Opens one connection for each of the users in turn, and returns the connections.
    private func open(_ users: some Sequence<UInt32>, _ running: RunningServer) async throws -> [any Channel] {
        var channels: [any Channel] = []
        for user in users {
            next.value = user
            let bootstrap = ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            channels.append(try await bootstrap.connect(unixDomainSocketPath: running.path).get())
            let count = channels.count
            #expect(try await comesTrue { await running.server.connectionCount >= min(count, 8) })
        }
        return channels
    }

    @Test func `a full server closes connections of the users with the most`() async throws {
        try await withUsers(ServerTotals(connections: 8, refusedConnections: 0)) { running in
            // Two users have all eight connections; four others then take one each.
            let crowd = try await open([10, 10, 10, 10, 11, 11, 11, 11], running)
            let others: [(UInt32, ReplyCode?)] = [(1, .ok), (2, .ok), (3, .ok), (0, .ok)]
            try await hold(others[...], running) { () async throws in
                #expect(await running.server.counts.map(\.user) == [0, 1, 2, 3, 10, 11])
                #expect(await running.server.connectionCount == 8)
            }
            for channel in crowd { try? await channel.close().get() }
        }
    }

    /// User 10 has four of the eight connections. Each of the next users takes the place of one of them.
    @Test func `a full server closes the connection that has been idle longest, and none that is busy`() async throws {
        let others: [(UInt32, ReplyCode?)] = [(11, .ok), (12, .ok), (13, .ok), (14, .ok)]
        try await withUsers(ServerTotals(connections: 8, refusedConnections: 0)) { running in
            try await connect(10, running) { busy async throws in
                try await connect(10, running) { latest async throws in
                    try await connect(10, running) { first async throws in
                        try await connect(10, running) { second async throws in
                            let request = requestBytes(.initialize, "a", Sample.alice)
                            try await busy.channel.writeAndFlush(ByteBuffer(bytes: request.prefix(9))).get()
                            #expect(try await latest.code(.noOperation) == .ok)
                            try await hold((others + [(1, .ok)])[...], running) { () async throws in
                                #expect(try await first.reply() == nil)
                                #expect(try await second.code(.noOperation) == .ok)
                                #expect(try await latest.code(.noOperation) == .ok)
                                try await hold([(2, .ok)][...], running) { () async throws in
                                    #expect(try await second.reply() == nil)
                                    #expect(try await latest.code(.noOperation) == .ok)
                                    try await hold([(3, .ok)][...], running) { () async throws in
                                        #expect(try await latest.reply() == nil, "an idle connection closes before a busy one")
                                        try await busy.send(Array(request.dropFirst(9)))
                                        #expect(try await busy.reply() == Reply())
                                    }
                                }
                            }
                        }
                    }
                }
            }
        }
    }

    @Test func `the last connections are reserved for root and for users who have caches`() async throws {
        try await withUsers(ServerTotals(connections: 32)) { running in
            try await connect(50, running) { connection async throws in
                #expect(try await connection.code(.initialize, "a", Sample.alice) == .ok)
            }
            #expect(try await comesTrue { await running.server.connectionCount == 0 })
            let crowd = (100..<130).map { ($0, .ok) } as [(UInt32, ReplyCode?)]
            let last: [(UInt32, ReplyCode?)] = [(130, .limitReached), (50, .ok), (131, .limitReached), (0, .ok), (50, .limitReached)]
            try await hold((crowd + last)[...], running) { () async throws in }
        }
    }

    @Test(arguments: [ServerTotals(files: 16), ServerTotals(storedBytes: 16 * TotalUsage.costOfUser)])
    func `room for the last users is reserved for root`(totals: ServerTotals) async throws {
        try await withUsers(totals) { running in
            let crowd = (100..<115).map { ($0, .ok) } as [(UInt32, ReplyCode?)]
            try await hold((crowd + [(115, .limitReached), (0, .ok), (116, .limitReached)])[...], running) { () async throws in }
        }
    }

    @Test func `connections and caches of subordinate UIDs count toward their owner's limits`() async throws {
        let limit = 4
        try await withUsers(ServerTotals(connections: 64)) { options in
            options.limits.connections = limit
            options.limits.refusedConnections = 64
            options.storeLimits = StoreLimits(caches: 3, bytes: 1 << 20)
            options.owner = { (100_000..<165_536).contains($0) ? 1000 : $0 }
        } _: { running in
            let crowd: [(UInt32, ReplyCode?)] = [(100_000, .ok), (100_001, .ok), (100_002, .ok), (1000, .ok)]
            let refused: [(UInt32, ReplyCode?)] = [(1000, .limitReached), (100_003, .limitReached)]
            try await hold((crowd + refused + [(1001, .ok)])[...], running) { () async throws in }
            #expect(try await comesTrue { await running.server.counts.isEmpty })
            for user in [100_000, 100_001, 1000] as [UInt32] {
                try await connect(user, running) { connection async throws in
                    #expect(try await connection.code(.initialize, "a", Sample.alice) == .ok)
                }
            }
            try await connect(100_000, running) { connection async throws in
                #expect(try await connection.code(.initialize, "b", Sample.alice) == .quotaExceeded)
            }
            try await connect(1001, running) { connection async throws in
                for name in ["a", "b", "c"] { #expect(try await connection.code(.initialize, name, Sample.alice) == .ok) }
            }
        }
    }

    @Test func `a change of subordinate UIDs moves their caches to the new owner's limits`() async throws {
        let owner = NextUser()
        try await withUsers(ServerTotals()) { options in
            options.storeLimits = StoreLimits(caches: 1, bytes: 1 << 20)
            options.owner = { $0 == 100_000 ? owner.value : $0 }
        } _: { running in
            owner.value = 1000
            try await connect(100_000, running) { subordinate async throws in
                #expect(try await subordinate.code(.initialize, "a", Sample.alice) == .ok)
                try await connect(1000, running) { connection async throws in
                    #expect(try await connection.code(.initialize, "a", Sample.alice) == .quotaExceeded)
                    owner.value = 1001
                    await running.server.countAgain()
                    #expect(try await connection.code(.initialize, "a", Sample.alice) == .ok)
                }
                #expect(try await subordinate.code(.initialize, "b", Sample.alice) == .quotaExceeded)
            }
            try await connect(1001, running) { connection async throws in
                #expect(try await connection.code(.initialize, "a", Sample.alice) == .quotaExceeded)
            }
        }
    }

    private let large = (0..<100).map { Sample.ticket($0, end: .max).with { $0.ticket = [UInt8](repeating: 7, count: 10 << 10) } }

    /// Stores tickets until one is refused, and returns how many were stored.
    private nonisolated(nonsending) func fill(_ connection: inout KCMConnection) async throws -> Int {
        for (count, ticket) in large.enumerated() {
            let code = try await connection.code(.store, "a", ticket.bytes)
            guard code == .ok else {
                #expect(code == .quotaExceeded)
                return count
            }
        }
        return large.count
    }

    @Test func `one user's tickets cannot take all of the server's storage`() async throws {
        try await withUsers(ServerTotals(storedBytes: 400 << 10)) { running in
            try await connect(1, running) { rich async throws in
                #expect(try await rich.code(.initialize, "a", Sample.alice) == .ok)
                let taken = try await fill(&rich)
                #expect((20...28).contains(taken))
                try await connect(2, running) { poor async throws in
                    #expect(try await poor.code(.initialize, "a", Sample.bob) == .ok)
                    let few = try await fill(&poor)
                    #expect((4...6).contains(few))
                    #expect(try await poor.code(.principal, "a") == .ok)
                    #expect(try await rich.code(.store, "a", large[99].bytes) == .quotaExceeded)
                    #expect(try await rich.code(.store, "a", large[0].bytes) == .ok, "it replaces an equal ticket")
                    #expect(try await rich.code(.destroy, "a") == .ok)
                    #expect(try await poor.code(.store, "a", large[99].bytes) == .ok)
                }
            }
        }
    }

    @Test func `the number of files is limited across all users`() async throws {
        try await withFolder { folder in
            try await withUsers(ServerTotals(files: 8), directory: "\(folder)/caches") { running in
                try await connect(1, running) { rich async throws in
                    for name in ["a", "b", "c", "d", "e"] { #expect(try await rich.code(.initialize, name, Sample.alice) == .ok) }
                    #expect(try await rich.code(.initialize, "f", Sample.alice) == .quotaExceeded)
                    try await connect(2, running) { poor async throws in
                        #expect(try await poor.code(.initialize, "a", Sample.bob) == .ok)
                        #expect(try await poor.code(.initialize, "b", Sample.bob) == .quotaExceeded)
                        try await connect(3, running, expecting: .limitReached) { _ in }
                        #expect(try await rich.code(.destroy, "e") == .ok)
                        try await connect(3, running) { _ in }
                    }
                }
            }
        }
    }

    @Test func `one user's unfinished requests cannot take all of the server's buffers`() async throws {
        try await withUsers(ServerTotals(waitingBytes: 1 << 20)) { running in
            try await connect(1, running) { slow async throws in
                let part = [0, 0x10, 0, 0] + [UInt8](repeating: 2, count: 760 << 10)
                try await slow.channel.writeAndFlush(ByteBuffer(bytes: part)).get()
                try await connect(1, running) { second async throws in
                    #expect(try await second.code(.initialize, "a", Sample.alice) == .ok)
                    // After this many turns, the server has read what the kernel has buffered of the first request.
                    for _ in 0..<50 { #expect(try await second.code(.noOperation) == .ok) }
                    let ticket = Sample.ticket(1).with { $0.ticket = [UInt8](repeating: 7, count: 500 << 10) }
                    #expect(try await second.code(.store, "a", ticket.bytes) == .limitReached)
                    #expect(try await second.code(.store, "a", Sample.ticket(1).bytes) == .ok)
                }
                try await connect(2, running) { other async throws in
                    #expect(try await other.code(.initialize, "a", Sample.bob) == .ok)
                    #expect(try await other.code(.store, "a", large[0].bytes) == .ok)
                }
            }
        }
    }

    @Test func `the server forgets a user without caches and removes the user's directory`() async throws {
        try await withFolder { folder in
            let caches = "\(folder)/caches"
            let folders = { Set((try? FileManager.default.contentsOfDirectory(atPath: caches)) ?? []) }
            try await withUsers(ServerTotals(files: 4), directory: caches) { running in
                for user in UInt32(1)...20 {
                    try await connect(user, running) { _ in #expect(folders().contains("\(user)")) }
                    #expect(try await comesTrue { folders().isEmpty })
                }
                #expect(await running.server.counts.isEmpty)
                try await connect(1, running) { connection async throws in
                    #expect(try await connection.code(.initialize, "a", Sample.alice) == .ok)
                }
                try await connect(2, running) { connection async throws in #expect(try await connection.code(.setDefaultCache, "b") == .ok)
                }
                #expect(try await comesTrue { await running.server.counts.allSatisfy { $0.connections == 0 } })
                #expect(folders() == ["1", "2"], "a default cache name keeps the directory")
                try await connect(1, running) { connection async throws in #expect(try await connection.code(.destroy, "a") == .ok) }
                #expect(try await comesTrue { folders() == ["2"] })
            }
            try FileManager.default.createDirectory(
                atPath: "\(caches)/3",
                withIntermediateDirectories: false,
                attributes: [.posixPermissions: 0o700]
            )
            try await withUsers(ServerTotals(files: 4), directory: caches) { _ in #expect(folders() == ["2"]) }
        }
    }

    /// While the server answers requests, it neither reads nor accepts anything.
    @Test func `by default the server reads its sockets at least every ten milliseconds`() {
        #expect(ServerLimits().turnTime > .zero && ServerLimits().turnTime <= .milliseconds(10))
    }

    @Test(arguments: [64, 256, 1024, 65_536, 1 << 20, .max])
    func `the system-wide limits fit in the number of file descriptors`(descriptors: Int) {
        let totals = ServerTotals.machine(descriptors: descriptors)
        #expect(totals.connections + totals.refusedConnections + totals.files <= descriptors - 64)
        #expect(totals.connections >= 0 && (descriptors < 1024 || totals.connections > 300))
    }

    @Test(arguments: [64, 256, 1024, 65_536, .max], [1, 8, 128]) func `the agent's connection limits leave file descriptors for other uses`(
        _ count: Int,
        _ processors: Int
    ) {
        let totals = ServerTotals.agent(descriptors: count, processors: processors)
        #expect(totals.connections >= 8)
        #expect(totals.connections + totals.refusedConnections <= max(16, count - 32))
    }
}

extension KCMServer {
    fileprivate var connectionCount: Int { get async { await counts.reduce(0) { $0 + $1.connections } } }
}
