import Foundation
import SSOAgent
import Synchronization

/// Both clocks of a machine, which change only when a test moves them.
final class ManualWakeClock: WakeClock {
    private struct State {
        var now: Moment
        var sleepers: [Int: (uptime: Double, continuation: CheckedContinuation<Void, any Error>)] = [:]
        var canceled: Set<Int> = []
        var count = 0
    }

    private let state: Mutex<State>
    /// Yields the number of each sleep as it begins.
    let sleeps: AsyncStream<Int>
    private let slept: AsyncStream<Int>.Continuation

    init(wall: Date = Date(), uptime: Double = 1000, lookCost: Double = 0) {
        self.lookCost = lookCost
        state = Mutex(State(now: Moment(wall: wall, uptime: uptime)))
        (sleeps, slept) = AsyncStream.makeStream()
    }

    var now: Moment { state.withLock { $0.now } }
    /// The seconds that a look at the caches takes: each reading of ``awake`` is this much later than the one before it. On a busy
    /// machine, a real look may take so long that the pause after it would exceed the times by which a test moves the clock.
    let lookCost: Double
    private let readings = Atomic(0)
    var awake: Double { Double(readings.wrappingAdd(1, ordering: .relaxed).newValue) * lookCost }
    /// The number of looks that have ended; each reads ``awake`` before and after it.
    var lookCount: Int { readings.load(ordering: .relaxed) / 2 }
    /// The number of sleeps that have begun.
    var sleepCount: Int { state.withLock { $0.count } }

    /// Moves both clocks forward.
    func advance(by seconds: Double) {
        move { now in
            now.wall += seconds
            now.uptime += seconds
        }
    }

    /// Moves only the wall clock, as if it were set.
    func setWall(by seconds: Double) { move { $0.wall += seconds } }

    private func move(_ change: (inout Moment) -> Void) {
        let woken = state.withLock { state in
            change(&state.now)
            let due = state.sleepers.filter { $0.value.uptime <= state.now.uptime }
            for number in due.keys { state.sleepers[number] = nil }
            return due.values.map(\.continuation)
        }
        for continuation in woken { continuation.resume() }
    }

    func sleep(until uptime: Double) async throws {
        let number = state.withLock { state in
            state.count += 1
            return state.count
        }
        slept.yield(number)
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                let result: Result<Void, any Error>? = state.withLock { state in
                    if state.canceled.remove(number) != nil { return .failure(CancellationError()) }
                    if uptime <= state.now.uptime { return .success(()) }
                    state.sleepers[number] = (uptime, continuation)
                    return nil
                }
                if let result { continuation.resume(with: result) }
            }
        } onCancel: {
            let sleeper = state.withLock { state in
                if let sleeper = state.sleepers.removeValue(forKey: number) { return Optional(sleeper) }
                state.canceled.insert(number)
                return nil
            }
            sleeper?.continuation.resume(throwing: CancellationError())
        }
    }
}
