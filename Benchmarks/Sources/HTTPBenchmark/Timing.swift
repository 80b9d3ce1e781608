import BenchmarkSupport
import Foundation

/// What so many requests took.
struct Timing: Sendable {
    /// Seconds on the clock.
    var seconds: Double
    /// Seconds of processor time of the client alone; it tells more than the clock on a busy machine.
    var processorSeconds: Double

    static func - (left: Timing, right: Timing) -> Timing {
        Timing(seconds: left.seconds - right.seconds, processorSeconds: left.processorSeconds - right.processorSeconds)
    }

    static func / (left: Timing, right: Double) -> Timing {
        Timing(seconds: left.seconds / right, processorSeconds: left.processorSeconds / right)
    }

    /// Whose processor time is counted.
    enum Process {
        case this
        /// The programs that this process ran and that have ended.
        case ended
    }

    /// Times what a closure does.
    static func of(_ process: Process, _ body: () async throws -> Void) async rethrows -> Timing {
        let clock = ContinuousClock()
        let (start, processor) = (clock.now, processorSeconds(process))
        try await body()
        return Timing(seconds: (clock.now - start) / .seconds(1), processorSeconds: processorSeconds(process) - processor)
    }

    static func processorSeconds(_ process: Process) -> Double {
        var usage = rusage()
        getrusage(process == .this ? RUSAGE_SELF.rawValue : RUSAGE_CHILDREN.rawValue, &usage)
        return seconds(usage.ru_utime) + seconds(usage.ru_stime)
    }

    private static func seconds(_ time: timeval) -> Double { Double(time.tv_sec) + Double(time.tv_usec) / 1e6 }

    /// What a program printed: both numbers.
    init(printed text: String) throws {
        let numbers = text.split(whereSeparator: \.isWhitespace).compactMap { Double($0) }
        guard numbers.count == 2, numbers[0] > 0 else { throw Unavailable(reason: "no timing was printed but \(text.prefix(200))") }
        self.init(seconds: numbers[0], processorSeconds: numbers[1])
    }

    init(seconds: Double, processorSeconds: Double) {
        self.seconds = seconds
        self.processorSeconds = processorSeconds
    }
}
