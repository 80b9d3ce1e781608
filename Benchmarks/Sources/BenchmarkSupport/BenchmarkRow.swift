import Foundation

/// One row of a benchmark, as `Benchmarks/run` writes it to its table and its record.
package struct BenchmarkRow: Codable, Sendable {
    package enum Unit: String, Codable, Sendable {
        case microseconds = "µs"
        case milliseconds = "ms"
        case seconds = "s"
        case perSecond = "a second"
        case mebibytes = "MiB"
        case mebibytesPerSecond = "MiB a second"
        case instructions
        /// One rate divided by another.
        case ratio = ""
    }

    /// The program that measured it, such as `HTTPBenchmark`.
    let benchmark: String
    let table, row: String
    let unit: Unit
    let median, lowest, highest: Double
    /// The processor's time for the same work, in microseconds.
    let processor: Double?
    /// The median divided by that of each peer in the same run.
    let ratios: [String: Double]

    /// Creates a row from the values of its rounds; nil if there are none.
    package init?(
        _ row: String,
        in table: String,
        _ rounds: [Double],
        _ unit: Unit,
        processor: Double? = nil,
        ratios: [String: Double?] = [:]
    ) {
        guard let lowest = rounds.min(), let highest = rounds.max() else { return nil }
        benchmark = CommandLine.arguments[0].split(separator: "/").last.map(String.init) ?? ""
        (self.row, self.table, self.unit, self.lowest, self.highest) = (row, table, unit, lowest, highest)
        self.processor = processor
        self.ratios = ratios.compactMapValues(\.self)
        median = rounds.median
    }

    /// Appends the row to the file that `BENCHMARK_ROWS` names, one JSON object a line; does nothing without it.
    package func record() {
        guard let path = ProcessInfo.processInfo.environment["BENCHMARK_ROWS"], let file = FileHandle(forUpdatingAtPath: path) else {
            return
        }
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        guard let line = try? encoder.encode(self) else { return }
        _ = try? file.seekToEnd()
        try? file.write(contentsOf: line + Data("\n".utf8))
        try? file.close()
    }
}
