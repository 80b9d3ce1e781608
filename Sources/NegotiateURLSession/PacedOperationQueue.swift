import Dispatch
import Foundation

/// Runs a session's callbacks one after the other, and lets the session wait while many of them are outstanding.
///
/// URLSession can't be told to pause: what a server sends faster than it is written to a disk would pile up in memory. It adds callbacks
/// from its own thread, so that holding that thread holds the connection.
///
/// Unchecked, because its superclass is: what is added here is a semaphore, which does not change.
final class PacedOperationQueue: OperationQueue, @unchecked Sendable {
    /// A piece of a body has 16 KiB at most.
    private static let maximumOutstanding = 64

    private let slots = DispatchSemaphore(value: 0)

    override init() {
        super.init()
        maxConcurrentOperationCount = 1
        // Dispatch traps when a semaphore goes with less than it was made with; so it is made with none.
        for _ in 0..<PacedOperationQueue.maximumOutstanding { slots.signal() }
    }

    override func addOperation(_ block: @escaping @Sendable () -> Void) {
        slots.wait()
        super.addOperation { [slots] in
            block()
            slots.signal()
        }
    }
}
