import Dispatch
import Foundation
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
        #expect(try await comesTrue { counts.added.load(ordering: .relaxed) >= 64 })
        // A queue without a limit takes and executes as many operations in the meantime.
        let other = OperationQueue()
        other.maxConcurrentOperationCount = 1
        let others = Counts()
        DispatchQueue.global().async {
            for _ in 0..<2000 { other.addOperation { others.done.add(1, ordering: .relaxed) } }
        }
        #expect(try await comesTrue { others.done.load(ordering: .relaxed) == 2000 })
        #expect(counts.added.load(ordering: .relaxed) == 64)
        #expect(counts.done.load(ordering: .relaxed) == 0)
        gate.signal()
        let isDone = try await comesTrue { counts.done.load(ordering: .relaxed) == 200 }
        #expect(isDone)
    }
}
