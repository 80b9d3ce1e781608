import BenchmarkSupport
import Foundation

/// The time that a number of requests took.
struct Timing: Sendable {
    /// Wall-clock seconds.
    var seconds: Double
    /// Seconds of the client's processor time, which is more reliable than the clock on a busy machine.
    var processorSeconds: Double

    static func - (left: Timing, right: Timing) -> Timing {
        Timing(seconds: left.seconds - right.seconds, processorSeconds: left.processorSeconds - right.processorSeconds)
    }

    static func / (left: Timing, right: Double) -> Timing {
        Timing(seconds: left.seconds / right, processorSeconds: left.processorSeconds / right)
    }

    /// The processes whose processor time is counted.
    enum Process {
        case this
        /// The child processes of this process that have exited.
        case ended
    }

    /// Measures a closure.
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

    /// Parses the two numbers that a program printed.
    init(printed text: String) throws {
        let numbers = text.split(whereSeparator: \.isWhitespace).compactMap { Double($0) }
        guard numbers.count == 2, numbers[0] > 0 else { throw Unavailable(reason: "expected a timing, got \(text.prefix(200))") }
        self.init(seconds: numbers[0], processorSeconds: numbers[1])
    }

    init(seconds: Double, processorSeconds: Double) {
        self.seconds = seconds
        self.processorSeconds = processorSeconds
    }
}
