import Foundation
import NIOCore
import NIOPosix
import Synchronization
import TestSupport
import Testing

@testable import KCM

/// How the server handles clients that send malformed, slow, excessive or unpermitted requests, and how it opens and closes sockets.
struct ServerTests {
    @Test(
        arguments: [
            [0, 0, 0, 0], [0, 0, 0, 1, 2], [0, 0, 0, 3, 2, 0, 0], [0xFF, 0xFF, 0xFF, 0xFF, 0xFF], Array("GET / HTTP/1.1".utf8),
            [0, 0, 0, 4, 1, 0, 0, 0],
        ] as [[UInt8]]
    )
    func `a malformed frame closes its own connection and no other`(bytes: [UInt8]) async throws {
        try await withServer { running in
            try await withConnection(running.path) { other async throws in
                #expect(try await other.code(.noOperation) == .ok)
                try await withConnection(running.path) { connection async throws in
                    try await connection.send(bytes)
                    #expect(try await connection.reply() == nil)
                }
                #expect(try await other.code(.noOperation) == .ok)
            }
        }
    }

    @Test func `unknown operations and truncated bodies are answered and the connection stays open`() async throws {
        try await withServer { running in
            try await withConnection(running.path) { connection async throws in
                for operation in [1, 13, 28, 13_000, 0xFFFF] as [UInt16] {
                    try await connection.send([0, 0, 0, 5, 2, 0, UInt8(operation >> 8), UInt8(operation & 0xFF), 0])
                    #expect(try await connection.reply() == Reply(code: .unsupported))
                }
                #expect(try await connection.code(.store, "a", [0, 0]) == .malformed)
                #expect(try await connection.code(.initialize, "a", Sample.alice) == .ok)
            }
        }
    }

    @Test func `requests sent byte by byte get the same replies as pipelined requests`() async throws {
        let requests = [
            requestBytes(.initialize, "a", Sample.alice), requestBytes(.store, "a", Sample.ticket(1).bytes),
            requestBytes(.store, "a", Sample.ticket(2).bytes), requestBytes(.credentialList, "a"), requestBytes(.destroy, "a"),
        ]
        try await withServer { running in
            try await withConnection(running.path) { connection async throws in
                var slow: [Reply?] = []
                for request in requests {
                    for byte in request { try await connection.send([byte]) }
                    slow.append(try await connection.reply())
                }
                try await connection.send(requests.flatMap(\.self))
                var fast: [Reply?] = []
                for _ in requests { fast.append(try await connection.reply()) }
                #expect(slow == fast)
                #expect(slow.allSatisfy { $0?.code == .ok })
                #expect(slow[3]?.body.count == 4 + 2 * 4 + Sample.ticket(1).bytes.count + Sample.ticket(2).bytes.count)
            }
        }
    }

    /// Each reply is one mebibyte. The kernel buffers a fraction of one, and the server one more.
    @Test func `a client that does not read its replies is served no further until it does`() async throws {
        let decided = Mutex(0)
        var options = KCMServer.Options.forEveryone()
        options.now = {
            decided.withLock { $0 += 1 }
            return 1500
        }
        try await withServer(options) { running in
            let large = Sample.ticket(1).with { $0.ticket = [UInt8](repeating: 7, count: 1 << 20) }
            try await withConnection(running.path) { connection async throws in
                #expect(try await connection.code(.replace, "a", replacement([large])) == .ok)
                try await connection.channel.setOption(.autoRead, value: false).get()
                for _ in 0..<40 { try await connection.send(requestBytes(.credentialList, "a")) }
                try await withConnection(running.path) { other async throws in
                    for _ in 0..<20 { #expect(try await other.code(.noOperation) == .ok) }
                }
                #expect(decided.withLock { $0 } < 1 + 20 + 20)
                try await connection.channel.setOption(.autoRead, value: true).get()
                for _ in 0..<40 { #expect(try await connection.reply()?.body.count == 4 + 4 + large.bytes.count) }
            }
        }
    }

    @Test func `a connection above the limit is refused, and a new one is served when there is room`() async throws {
        var options = KCMServer.Options.forEveryone()
        options.limits.connections = 2
        options.limits.refusedConnections = 1
        try await withServer(options) { running in
            try await withConnection(running.path) { first async throws in
                #expect(try await first.code(.noOperation) == .ok)
                try await withConnection(running.path) { second async throws in
                    #expect(try await second.code(.noOperation) == .ok)
                    try await withConnection(running.path) { third async throws in
                        #expect(try await third.code(.retrieve, "a", Fields().patternBytes()) == .limitReached)
                        try await withConnection(running.path) { fourth async throws in #expect(try await fourth.reply() == nil) }
                        #expect(try await first.code(.noOperation) == .ok)
                    }
                }
                #expect(try await comesTrue { await running.server.counts.first?.connections == 1 })
                try await withConnection(running.path) { next async throws in #expect(try await next.code(.noOperation) == .ok) }
            }
        }
    }

    @Test func `a thousand idle connections do not block another client`() async throws {
        try await withServer { running in
            let bootstrap = ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            var idle: [any Channel] = []
            let result: Result<Void, any Error>
            do {
                for _ in 0..<1000 {
                    idle.append(try await bootstrap.connect(unixDomainSocketPath: running.path).get())
                    // Waits after each hundred, so that the socket's backlog is never full.
                    guard idle.count.isMultiple(of: 100) else { continue }
                    #expect(try await comesTrue { await running.server.counts.first?.connections == idle.count })
                }
                try await withConnection(running.path) { connection async throws in
                    #expect(try await connection.code(.initialize, "a", Sample.alice) == .ok)
                    #expect(await running.server.counts.first?.connections == 1001)
                }
                result = .success(())
            } catch {
                result = .failure(error)
            }
            for channel in idle { try? await channel.close().get() }
            try result.get()
            #expect(try await comesTrue { await running.server.counts.first?.connections == 0 })
        }
    }

    @Test func `a connection without a complete request is closed after the idle time`() async throws {
        var options = KCMServer.Options.forEveryone()
        options.limits.idleTime = .milliseconds(500)
        try await withServer(options) { running in
            try await withConnection(running.path) { connection async throws in
                // An incomplete request does not keep the connection open. On a busy machine it may be closed already.
                try? await connection.send([0, 0, 0, 4, 2])
                #expect(try await connection.reply() == nil)
            }
        }
    }

    @Test func `a connection whose last request is older than the idle time is closed`() async throws {
        var options = KCMServer.Options.forEveryone()
        options.limits.idleTime = .seconds(3600)
        try await withServer(options) { running in
            try await withConnection(running.path) { connection async throws in
                #expect(try await connection.code(.noOperation) == .ok)
                await running.server.closeIdle(now: .now() + .minutes(30))
                #expect(try await connection.code(.noOperation) == .ok)
                await running.server.closeIdle(now: .now() + .minutes(61))
                #expect(try await connection.reply() == nil)
            }
        }
    }

    @Test func `a request above the user's limit on unfinished requests is refused`() async throws {
        var options = KCMServer.Options.forEveryone()
        options.limits.waitingBytes = 1 << 20
        try await withServer(options) { running in
            let large = Sample.ticket(1).with { $0.ticket = [UInt8](repeating: 7, count: 3 << 20) }
            try await withConnection(running.path) { connection async throws in
                #expect(try await connection.code(.initialize, "a", Sample.alice) == .ok)
                #expect(try await connection.code(.store, "a", large.bytes) == .limitReached)
                #expect(try await connection.code(.store, "a", Sample.ticket(1).bytes) == .ok)
                #expect(try await connection.request(.credentialList, "a")?.body.count == 8 + Sample.ticket(1).bytes.count)
            }
        }
    }

    @Test func `every request of a client without permission is answered with notPermitted`() async throws {
        var options = KCMServer.Options.forEveryone()
        options.isPermitted = { $0.processID != getpid() || $0.userID != geteuid() }
        try await withServer(options) { running in
            try await withConnection(running.path) { connection async throws in
                #expect(try await connection.code(.initialize, "a", Sample.alice) == .notPermitted)
                #expect(try await connection.code(.defaultCache) == .notPermitted)
            }
            #expect(await running.server.counts.isEmpty)
        }
    }

    @Test func `a connection is closed when its client's permission changes`() async throws {
        let isPermitted = Mutex(false)
        var options = KCMServer.Options.forEveryone()
        options.isPermitted = { _ in isPermitted.withLock { $0 } }
        let check: @Sendable (PeerCredential) -> Bool = { _ in isPermitted.withLock { $0 } }
        try await withServer(options) { running in
            for next in [true, false] {
                let code = next ? ReplyCode.notPermitted : .ok
                try await withConnection(running.path) { connection async throws in
                    #expect(try await connection.code(.initialize, "a", Sample.alice) == code)
                    isPermitted.withLock { $0 = next }
                    await running.server.closeConnections(unless: check)
                    let reply = try? await connection.request(.initialize, "a", Sample.alice)
                    #expect(reply == nil)
                }
            }
            isPermitted.withLock { $0 = true }
            try await withConnection(running.path) { connection async throws in
                #expect(try await connection.code(.initialize, "a", Sample.alice) == .ok)
                await running.server.closeConnections(unless: check)
                #expect(try await connection.code(.initialize, "a", Sample.alice) == .ok)
            }
        }
    }

    @Test func `the observer is called for each change before the client gets its reply`() async throws {
        let events = Mutex<[StoreEvent]>([])
        var options = KCMServer.Options.forEveryone()
        options.observer = { event in events.withLock { $0.append(event) } }
        let steps: [(KCM.Operation, String, [UInt8], [(StoreEvent.Kind, String)])] = [
            (.initialize, "a", Sample.alice, [(.initialized, "a")]), (.store, "a", Fields().bytes, [(.stored, "a")]),
            (.remove, "a", Fields().patternBytes(), [(.removed, "a")]), (.setClockOffset, "a", encoded(5), []),
            (.move, "a", CacheName("b").terminated, [(.destroyed, "a"), (.initialized, "b")]),
            (.setDefaultCache, "c", [], [(.primaryChanged, "c")]), (.destroy, "b", [], [(.destroyed, "b")]),
            (.principal, "b", [], []),
        ]
        try await withServer(options) { running in
            try await withConnection(running.path) { connection async throws in
                for (operation, name, body, expected) in steps {
                    _ = try await connection.request(operation, name, body)
                    let heard = events.withLock { events in
                        defer { events = [] }
                        return events
                    }
                    #expect(heard == expected.map { StoreEvent(user: geteuid(), kind: $0.0, cache: CacheName($0.1)) }, "\(operation)")
                }
            }
        }
    }

    @Test func `requests sent before a shutdown are answered before the server stops`() async throws {
        try await withServer { running in
            try await withConnection(running.path) { connection async throws in
                #expect(try await connection.code(.initialize, "a", Sample.alice) == .ok)
                for number in 0..<100 { try await connection.send(requestBytes(.store, "a", Sample.ticket(number).bytes)) }
                await running.server.shutDown()
                for _ in 0..<100 { #expect(try await connection.reply() == Reply()) }
                #expect(try await connection.reply() == nil)
            }
            // A child process that another test is starting briefly has a copy of the socket, which still accepts connections.
            #expect(try await comesTrue { await (try? withConnection(running.path) { _ in }) == nil })
            #expect(await running.server.counts.isEmpty)
        }
    }

    @Test func `replacing a lost socket closes the old listener and keeps connections open`() async throws {
        try await withServer { running in
            let path = running.path
            try await withConnection(path) { old async throws in
                #expect(try await old.code(.initialize, "a", Sample.alice) == .ok)
                for _ in 0..<3 {
                    #expect(unlink(path) == 0)
                    let socket = try ListeningSocket.bind(path: path)
                    let listeners = Mutex<Int?>(nil)
                    try await running.server.serve(socket) { listeners.withLock { $0 = try? listenerCount(at: path) } }
                    #expect(listeners.withLock { $0 } == 2, "the old listener stays open until the new one accepts connections")
                    try await withConnection(path) { new async throws in #expect(try await new.code(.principal, "a") == .ok) }
                    #expect(try await comesTrue { try listenerCount(at: path) == 1 })
                }
                #expect(try await old.code(.principal, "a") == .ok)
            }
        }
    }

    @Test func `two sockets serve the same store`() async throws {
        try await withServer { running in
            let second = "\(running.folder)/second.sock"
            try await running.server.serve(try ListeningSocket.bind(path: second))
            try await withConnection(running.path) { connection async throws in
                #expect(try await connection.code(.initialize, "a", Sample.alice) == .ok)
            }
            try await withConnection(second) { connection async throws in #expect(try await connection.code(.principal, "a") == .ok) }
        }
    }
}
