import BenchmarkSupport
import Foundation

/// The instructions of each row, as a file keeps them.
struct InstructionRecord: Codable {
    /// How much more a row may cost than its record: a twentieth.
    static let permittedGrowth = 1.05
    /// How much the plain C loop may differ from its record. It runs none of this project's code, so that a larger difference comes from
    /// other libraries or another processor, and the rows are not compared.
    private static let permittedDifference = 0.03
    /// The row of the plain C loop.
    static let floor = "token, plain C loop"

    private let counts: [String: Double]

    init(counts: [String: Double]) { self.counts = counts.mapValues { $0.rounded() } }

    /// Reads a record; an absent file is an empty one.
    init(path: String) throws {
        guard FileManager.default.fileExists(atPath: path) else {
            self.init(counts: [:])
            return
        }
        self = try JSONDecoder().decode(InstructionRecord.self, from: Data(contentsOf: URL(filePath: path)))
    }

    func write(to path: String) throws {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
        let url = URL(filePath: path)
        try FileManager.default.createDirectory(at: url.deletingLastPathComponent(), withIntermediateDirectories: true)
        try (encoder.encode(self) + Data("\n".utf8)).write(to: url, options: .atomic)
    }

    /// Prints the counts of these rows next to the recorded ones.
    ///
    /// - Returns: The largest growth, as a ratio; 1 if the rows cannot be compared.
    func report(_ measured: [String: Double], _ titles: [String]) -> Double {
        let isComparable = isComparable(measured)
        BenchmarkSupport.report("instructions".padded(56) + "now".rightAligned(12) + "record".rightAligned(12) + "ratio".rightAligned(8))
        var growth = 1.0
        for title in titles {
            let now = measured[title] ?? 0
            let earlier = counts[title].map { String(Int($0)) } ?? "-"
            let ratio = isComparable ? counts[title].map { now / $0 } : nil
            let text = ratio.map { String(format: "%.3f", $0) } ?? "-"
            BenchmarkSupport.report(
                "  " + title.padded(54) + String(Int(now)).rightAligned(12) + earlier.rightAligned(12) + text.rightAligned(8)
            )
            if let ratio { growth = max(growth, ratio) }
        }
        BenchmarkSupport.report(conclusion(isComparable, growth))
        return growth
    }

    private func isComparable(_ measured: [String: Double]) -> Bool {
        guard let earlier = counts[Self.floor], let now = measured[Self.floor] else { return false }
        return abs(now / earlier - 1) <= Self.permittedDifference
    }

    private func conclusion(_ isComparable: Bool, _ growth: Double) -> String {
        guard !counts.isEmpty else { return "There is no record; write one: Benchmarks/run --record instructions" }
        guard isComparable else {
            return "The plain C loop differs from its record, so this machine has other libraries, and the rows are not compared."
        }
        guard growth > Self.permittedGrowth else { return "No row has grown by more than five percent." }
        return "A row has grown by more than five percent. The profiles are in Benchmarks/.build/callgrind: callgrind_annotate FILE"
    }
}
