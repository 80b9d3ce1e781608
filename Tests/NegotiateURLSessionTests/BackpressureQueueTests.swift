import Dispatch
import Synchronization
import TestSupport
import Testing

@testable import NegotiateURLSession

/// The queue that blocks when it is full.
@Suite(.timeLimit(.minutes(5))) struct BackpressureQueueTests {
    private final class Counts: Sendable {
        let added = Atomic(0)
        let done = Atomic(0)
    }

    @Test func `adding to a full queue waits until an operation is done`() async throws {
        let queue = BackpressureQueue()
        let counts = Counts()
        let gate = DispatchSemaphore(value: 0)
        DispatchQueue.global().async {
            for position in 0..<200 {
                queue.addOperation {
                    if position == 0 { gate.wait() }
                    counts.done.add(1, ordering: .relaxed)
                }
                counts.added.add(1, ordering: .relaxed)
            }
        }
        let isFull = try await comesTrue { counts.added.load(ordering: .relaxed) == 64 }
        #expect(isFull)
        #expect(counts.added.load(ordering: .relaxed) == 64)
        #expect(counts.done.load(ordering: .relaxed) == 0)
        gate.signal()
        let isDone = try await comesTrue { counts.done.load(ordering: .relaxed) == 200 }
        #expect(isDone)
    }
}
