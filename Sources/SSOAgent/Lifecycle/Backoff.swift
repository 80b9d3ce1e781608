/// How long to wait before the next attempt: ever longer, up to a limit, and not all machines at the same moment.
package struct Backoff: Sendable {
    /// The wait after the first failure, in seconds.
    package var first: Double
    /// No wait is longer, in seconds.
    package var limit: Double
    /// A number from 0 up to 1, another one each time.
    package var jitter: @Sendable () -> Double

    package init(first: Double = 10, limit: Double = 300, jitter: @escaping @Sendable () -> Double = { .random(in: 0..<1) }) {
        self.first = first
        self.limit = limit
        self.jitter = jitter
    }

    /// The wait after so many failures in a row, in seconds: from a half of what is due to the whole.
    func delay(afterFailures count: Int) -> Double {
        var delay = first
        for _ in 1..<max(1, count) where delay < limit { delay *= 2 }
        return min(delay, limit) * (1 + jitter()) / 2
    }
}
