import Dispatch
import NIOCore
import Synchronization
import TestSupport
import Testing

@testable import NegotiateProxy

/// How names of servers are resolved.
@Suite struct NameResolverTests {
    @Test func `names that no server answers for delay no other name`() async throws {
        let answer = DispatchSemaphore(value: 0)
        let resolver = NameResolver({ host in
            if host.hasPrefix("dead") { answer.wait() }
            return (try? [SocketAddress(ipAddress: "192.0.2.1", port: 0)]) ?? []
        })
        async let first = resolver.addresses(of: "dead1.example")
        async let second = resolver.addresses(of: "dead2.example")
        #expect(try await resolver.addresses(of: "a.example").map(\.ipAddress) == ["192.0.2.1"])
        for _ in 1...2 { answer.signal() }
        let addresses = try await (first, second)
        #expect(addresses.0 == addresses.1)
    }

    /// How many lookups run at once. The thread sanitizer recognizes the lock of a structure, and not that of a tuple.
    private struct Concurrency {
        var now = 0
        var most = 0
    }

    @Test func `more names than threads wait for their turn`() async throws {
        let running = Mutex(Concurrency())
        let resolver = NameResolver({ _ in
            running.withLock {
                $0.now += 1
                $0.most = max($0.most, $0.now)
            }
            defer { running.withLock { $0.now -= 1 } }
            return (try? [SocketAddress(ipAddress: "192.0.2.1", port: 0)]) ?? []
        })
        try await withThrowingTaskGroup { group in
            for number in 1...200 { group.addTask { _ = try await resolver.addresses(of: "\(number).example") } }
            try await group.waitForAll()
        }
        #expect(running.withLock { $0.most } <= NameResolver.maximumThreads)
    }

    @Test func `an answer serves for half a minute, and a failure for nothing`() async throws {
        let time = Mutex(ContinuousClock.now)
        let calls = Mutex(0)
        let resolver = NameResolver(
            { host in
                calls.withLock { $0 += 1 }
                return host == "a.example" ? (try? [SocketAddress(ipAddress: "2001:db8::1", port: 0)]) ?? [] : []
            },
            now: { time.withLock { $0 } }
        )
        for _ in 1...2 { #expect(try await resolver.addresses(of: "a.example").count == 1) }
        #expect(calls.withLock { $0 } == 1)
        time.withLock { $0 += .seconds(31) }
        _ = try await resolver.addresses(of: "a.example")
        #expect(calls.withLock { $0 } == 2)
        for _ in 1...2 { await #expect(throws: NameResolver.NotFound.self) { try await resolver.addresses(of: "b.example") } }
        #expect(calls.withLock { $0 } == 4)
    }

    @Test func `the system knows localhost`() async throws {
        let addresses = try await NameResolver().addresses(of: "localhost")
        #expect(addresses.contains { $0.ipAddress == "127.0.0.1" })
        #expect(addresses.allSatisfy { $0.port == 0 })
    }
}
