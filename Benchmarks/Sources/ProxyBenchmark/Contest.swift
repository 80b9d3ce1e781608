import BenchmarkSupport
import Foundation

/// What is measured of one row in one round.
enum Figure: Sendable, Hashable {
    /// Requests, tunnels or MiB a second.
    case rate
    /// Milliseconds.
    case middleLatency, highLatency
    /// Microseconds of processor time for one request or tunnel, or milliseconds for one GiB.
    case processor
}

typealias Sample = [Figure: Double]

/// Measures rows in turn, round by round, so that other load on the machine affects all of them equally.
struct Contest: Sendable {
    static let rounds = 5
    /// The approximate duration of one row in one round.
    static let secondsPerRound = 0.4

    /// One row.
    struct Contestant: Sendable {
        let name: String
        /// Measures a number of requests, tunnels or MiB.
        let run: @Sendable (_ count: Int) async throws -> Sample
    }

    private let contestants: [Contestant]
    private var samples: [String: [Sample]] = [:]
    private var failures: [String: String] = [:]

    /// - Parameters:
    ///   - warmUp: The count of the first run, which is not measured and shows how many fit into a round.
    ///   - limits: The counts of one round.
    static func run(_ contestants: [Contestant], warmUp: Int, limits: ClosedRange<Int>) async throws -> Contest {
        var contest = Contest(contestants: contestants)
        var counts: [String: Int] = [:]
        for contestant in contestants {
            guard let rate = await contest.attempt(contestant, warmUp)?[.rate] else { continue }
            counts[contestant.name] = min(limits.upperBound, max(limits.lowerBound, Int(rate * secondsPerRound)))
        }
        for _ in 0..<rounds {
            for contestant in contestants {
                guard contest.failures[contestant.name] == nil, let count = counts[contestant.name] else { continue }
                if let sample = await contest.attempt(contestant, count) { contest.samples[contestant.name, default: []].append(sample) }
            }
        }
        return contest
    }

    private init(contestants: [Contestant]) { self.contestants = contestants }

    private mutating func attempt(_ contestant: Contestant, _ count: Int) async -> Sample? {
        do {
            return try await contestant.run(count)
        } catch {
            failures[contestant.name] = "\(error)"
            return nil
        }
    }

    // MARK: - The table

    /// A column: its heading, what it shows, and the digits after the point.
    struct Column: Sendable {
        let title: String
        let figure: Figure
        var digits = 2
    }

    func table(_ title: String, _ columns: [Column]) -> String {
        for contestant in contestants { measurement(contestant.name, title, columns)?.record() }
        let heading = title.padded(72) + columns.map { $0.title.rightAligned($0.title.count + 3) }.joined()
        let rows = contestants.map { contestant in
            if let failure = failures[contestant.name] {
                let line = failure.split(separator: "\r\n").first ?? ""
                return "  \(contestant.name): not measured: \(line)"
            }
            let cells = columns.map { column in
                (median(contestant.name, column.figure).map { String(format: "%.\(column.digits)f", $0) } ?? "-")
                    .rightAligned(column.title.count + 3)
            }
            return "  " + contestant.name.padded(70) + cells.joined()
        }
        return ([heading] + rows).joined(separator: "\n")
    }

    private func measurement(_ name: String, _ title: String, _ columns: [Column]) -> BenchmarkRow? {
        let isTransfer = columns.contains { $0.title.hasPrefix("MiB") }
        let peers = contestants.map(\.name).filter { $0 != name }
        return BenchmarkRow(
            name,
            in: title,
            figures(name, .rate),
            isTransfer ? .mebibytesPerSecond : .perSecond,
            processor: isTransfer ? nil : median(name, .processor),
            ratios: Dictionary(uniqueKeysWithValues: peers.map { ($0, ratio(name, to: $0, .rate)) })
        )
    }

    /// The median of the rounds.
    func median(_ name: String, _ figure: Figure) -> Double? {
        let values = figures(name, figure)
        return values.isEmpty ? nil : values.median
    }

    /// The median of the ratios of the rounds.
    func ratio(_ name: String, to other: String, _ figure: Figure) -> Double? {
        let values = zip(figures(name, figure), figures(other, figure)).map { $0 / $1 }
        return values.isEmpty ? nil : values.median
    }

    /// A line that says that a goal cannot be reached, because even a base that does less does not reach it; empty if it does.
    func limit(_ base: String, atLeast limit: Double, times other: String) -> String {
        guard let ratio = ratio(base, to: other, .rate), ratio < limit else { return "" }
        return "  limit: \(base) reaches \(String(format: "%.2f", ratio)) times \(other)\n"
    }

    private func figures(_ name: String, _ figure: Figure) -> [Double] {
        failures[name] == nil ? samples[name, default: []].compactMap { $0[figure] } : []
    }
}

extension Sample {
    /// - Parameters:
    ///   - processor: The seconds of processor time.
    ///   - latencies: In microseconds.
    init(count: Int, seconds: Double, processor: Double?, latencies: [Double]) {
        let sorted = latencies.sorted()
        self = [
            .rate: Double(count) / seconds, .middleLatency: sorted[sorted.count / 2] / 1000,
            .highLatency: sorted[sorted.count * 99 / 100] / 1000,
        ]
        self[.processor] = processor.map { $0 * 1e6 / Double(count) }
    }
}

/// What is to be reached.
struct Goal {
    let words: String
    let value: Double?
    let isReached: (Double) -> Bool

    static func atLeast(_ limit: Double, _ words: String, _ value: Double?) -> Goal { Goal(words: words, value: value) { $0 >= limit } }
    static func atMost(_ limit: Double, _ words: String, _ value: Double?) -> Goal { Goal(words: words, value: value) { $0 <= limit } }

    var text: String {
        guard let value else { return "  goal: \(words): not known" }
        return "  goal: \(words): \(isReached(value) ? "reached" : "missed") (\(String(format: "%.2f", value)))"
    }
}
