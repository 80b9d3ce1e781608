import BenchmarkSupport
import Foundation

/// Measures rows in turn, round by round, so that other load on the machine affects all of them equally.
struct Comparison {
    static let rounds = 5
    /// The approximate duration of one row in one round.
    static let secondsPerRound = 0.4

    let rows: [Row]
    /// The timings of one request, round by round.
    private var timings: [String: [Timing]] = [:]
    private var failures: [String: String] = [:]

    init(rows: [Row]) { self.rows = rows }

    /// Measures and prints the table.
    mutating func run(title: String, site: Site) async throws {
        var counts: [String: Int] = [:]
        for row in rows {
            await attempt(row) {
                // The first responses include connections, tickets and caches, and show how many requests fit into a round.
                let timing = try await row.run(60)
                counts[row.name] = min(20_000, max(60, Int(60 / max(timing.seconds, 1e-3) * Self.secondsPerRound)))
            }
        }
        for _ in 0..<Self.rounds {
            for row in rows where failures[row.name] == nil {
                guard let count = counts[row.name] else { continue }
                var timing: Timing?
                await attempt(row) { timing = try await row.run(count) / Double(count) }
                if let timing { timings[row.name, default: []].append(timing) }
            }
        }
        report(table(title: title, sent: RequestCount.all(in: try site.server.accessLog())))
        for row in rows { measurement(row.name, title)?.record() }
    }

    private func measurement(_ name: String, _ title: String) -> BenchmarkRow? {
        guard failures[name] == nil, let rounds = timings[name]?.map({ $0.seconds * 1e6 }), let own = microseconds(name) else { return nil }
        let peers = [Rows.reference, Rows.curlAskedFirst, Rows.libcurl, Rows.unauthenticated].filter { $0 != name }
        let ratios = peers.map { peer in (peer, microseconds(peer).map { own / $0 }) }
        return BenchmarkRow(
            name,
            in: title,
            rounds,
            .microseconds,
            processor: processorMicroseconds(name),
            ratios: Dictionary(uniqueKeysWithValues: ratios)
        )
    }

    private mutating func attempt(_ row: Row, _ body: () async throws -> Void) async {
        do { try await body() } catch { failures[row.name] = "\(error)" }
    }

    private func table(title: String, sent: [String: RequestCount]) -> String {
        let heading = "\(title), one request after the other".padded(46) + "a second   of curl   µs each   µs of processor   sent for one"
        let lines = rows.map { row in
            if let failure = failures[row.name] { return "  \(row.name): not measured: \(failure)" }
            let (rate, ratio) = (microseconds(row.name).map { 1e6 / $0 }, ratioToCurl(row.name))
            let cells = [
                (rate, "%.0f", 10), (ratio, "%.2f", 10), (microseconds(row.name), "%.0f", 10),
                (processorMicroseconds(row.name), "%.0f", 18),
                (sent[row.tag]?.ratio, "%.2f", 15),
            ]
            return "  " + row.name.padded(42)
                + cells.map { value, format, width in
                    (value.map { String(format: format, $0) } ?? "-").rightAligned(width)
                }.joined()
        }
        return ([heading] + lines).joined(separator: "\n") + "\n"
    }

    private func ratioToCurl(_ name: String) -> Double? {
        guard let own = microseconds(name), let curl = microseconds(Rows.reference) else { return nil }
        return curl / own
    }

    /// The wall-clock microseconds of one request of a row, if it was measured.
    func microseconds(_ name: String) -> Double? {
        failures[name] == nil ? timings[name].map { $0.map(\.seconds).median * 1e6 } : nil
    }

    /// The microseconds of the client's processor time for one request of a row, if it was measured.
    func processorMicroseconds(_ name: String) -> Double? {
        failures[name] == nil ? timings[name].map { $0.map(\.processorSeconds).median * 1e6 } : nil
    }
}

/// The number of requests with one tag in the server's log, and of those that it answered with 200.
///
/// The server authenticates no connection (`Persistent-Auth: false`), so each 200 of the protected page required its own token.
struct RequestCount {
    var all = 0
    var answered = 0

    /// The number of requests sent for one 200 response.
    var ratio: Double { Double(all) / Double(max(1, answered)) }

    /// Each line starts with the status and contains the tag between `?` and `&` or a space.
    static func all(in log: String) -> [String: RequestCount] {
        var counts: [String: RequestCount] = [:]
        for line in log.split(separator: "\n") {
            guard let mark = line.firstIndex(of: "?") else { continue }
            let tag = String(line[line.index(after: mark)...].prefix { $0 != "&" && $0 != " " })
            counts[tag, default: RequestCount()].all += 1
            if line.hasPrefix("200 ") { counts[tag]?.answered += 1 }
        }
        return counts
    }
}
