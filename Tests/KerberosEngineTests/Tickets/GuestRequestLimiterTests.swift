import Kerberos
import SystemSupport
import Testing

@testable import KerberosEngine

struct GuestRequestLimiterTests {
    private let limiter = GuestRequestLimiter()

    /// Runs a body while requests that do not end occupy every place, so that all others wait: for ten times the usual time, because a busy
    /// machine needs time to start them all.
    private func withAllPlacesTaken(_ body: () async throws -> Void) async throws {
        let (entries, entry) = AsyncStream.makeStream(of: Void.self)
        let requests = (0..<GuestRequestLimiter.limit).map { _ in AsyncStream.makeStream(of: Void.self) }
        let running = requests.map { request in
            Task { [limiter] in
                try await limiter.run(for: 1001, subject: "a host") { () async throws(KerberosError) in
                    entry.yield()
                    for await _ in request.stream {}
                }
            }
        }
        var entered = entries.makeAsyncIterator()
        for _ in running { await entered.next() }
        try await Patience.$factor.withValue(10) { try await body() }
        for request in requests { request.continuation.finish() }
        for request in running { try await request.value }
    }

    @Test(.timeLimit(.minutes(1))) func `a canceled request leaves the queue at once`() async throws {
        try await withAllPlacesTaken {
            let (endings, ending) = AsyncStream.makeStream(of: Int.self)
            // As many requests as may wait, and some more, which are refused.
            let excess = 8
            let requests = (0..<GuestRequestLimiter.waitingLimit + excess).map { number in
                Task { [limiter] in
                    _ = try? await limiter.run(for: 1001, subject: "a host") { () async throws(KerberosError) in }
                    ending.yield(number)
                }
            }
            var ended = endings.makeAsyncIterator()
            var refused: Set<Int> = []
            for _ in 0..<excess { refused.insert(try #require(await ended.next())) }
            // All others wait, and stay in the queue for seconds if they are not canceled.
            for number in requests.indices.filter({ !refused.contains($0) }).suffix(4).reversed() {
                requests[number].cancel()
                #expect(await ended.next() == number)
            }
            for request in requests { request.cancel() }
            for request in requests { await request.value }
        }
    }

    @Test func `a request that is canceled already does not wait`() async throws {
        try await withAllPlacesTaken {
            let request = Task { [limiter] in
                while !Task.isCancelled { await Task.yield() }
                return await ContinuousClock().measure {
                    _ = try? await limiter.run(for: 1001, subject: "a host") { () async throws(KerberosError) in }
                }
            }
            request.cancel()
            #expect(await request.value < GuestRequestLimiter.longestWait)
        }
    }
}
