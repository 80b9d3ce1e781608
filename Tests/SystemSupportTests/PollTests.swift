import SystemSupport
import Testing

/// How long a poll lasts.
struct PollTests {
    @Test func `a poll ends when its condition becomes true`() async throws {
        for needed in 1...3 {
            var checks = 0
            let isTrue = try await pollUntil(within: .seconds(60), every: .microseconds(1)) {
                checks += 1
                return checks == needed
            }
            #expect(isTrue && checks == needed)
        }
    }

    @Test func `a poll checks its condition once even without time`() async throws {
        var checks = 0
        let isTrue = try await pollUntil(within: .zero) {
            checks += 1
            return false
        }
        #expect(!isTrue && checks == 1)
    }

    @Test func `a poll ends with the error of its condition`() async {
        struct Broken: Error {}
        await #expect(throws: Broken.self) { try await pollUntil(within: .seconds(60)) { throw Broken() } }
    }

    @Test(.timeLimit(.minutes(1))) func `a poll ends when its task is canceled`() async {
        let poll = Task { try await pollUntil(within: .seconds(3600)) { false } }
        poll.cancel()
        await #expect(throws: CancellationError.self) { _ = try await poll.value }
    }
}
