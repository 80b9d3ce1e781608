internal import Synchronization

/// All deadlines of the process, with one task that sleeps until the next: a call notes its own and takes it away again, which wakes
/// nobody.
final class DeadlineQueue: Sendable {
    static let shared = DeadlineQueue()

    private struct Entry {
        let instant: ContinuousClock.Instant
        let expire: @Sendable () -> Void
    }

    private struct State {
        var number = 0
        var entries: [Int: Entry] = [:]
        /// When the sleeping task wakes; nil where none sleeps.
        var waking: ContinuousClock.Instant?
    }

    private let state = Mutex(State())
    /// Far enough for "no limit", and within what a clock can add.
    private static let longest = Duration.seconds(1 << 31)

    /// Notes a closure that is to be called when the time is up; returns what takes it away.
    func insert(after limit: Duration, _ expire: @escaping @Sendable () -> Void) -> Int {
        let instant = ContinuousClock.now + min(limit, Self.longest)
        let (number, isNext) = state.withLock { state in
            state.number += 1
            state.entries[state.number] = Entry(instant: instant, expire: expire)
            let isNext = state.waking.map { instant < $0 } ?? true
            if isNext { state.waking = instant }
            return (state.number, isNext)
        }
        if isNext { Task.detached { await self.sleep(until: instant) } }
        return number
    }

    func remove(_ number: Int) {
        state.withLock { _ = $0.entries.removeValue(forKey: number) }
    }

    /// Sleeps from one deadline to the next, until there is none or another task has an earlier one.
    private func sleep(until first: ContinuousClock.Instant) async {
        var instant = first
        while true {
            try? await ContinuousClock().sleep(until: instant)
            let (expired, next) = takeExpired(wokenAt: instant)
            for entry in expired { entry.expire() }
            guard let next else { return }
            instant = next
        }
    }

    private func takeExpired(wokenAt instant: ContinuousClock.Instant) -> ([Entry], ContinuousClock.Instant?) {
        state.withLock { state in
            let now = ContinuousClock.now
            let expired = state.entries.filter { $0.value.instant <= now }
            for number in expired.keys { state.entries[number] = nil }
            guard state.waking == instant else { return (Array(expired.values), nil) }
            state.waking = state.entries.values.map(\.instant).min()
            return (Array(expired.values), state.waking)
        }
    }
}
