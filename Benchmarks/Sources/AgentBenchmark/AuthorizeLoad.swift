import BenchmarkSupport
import CFloor
import Foundation

/// Tokens from the agent's API: 16 concurrent clients, each with its own persistent connection; compared with a route of the same HTTP
/// server that does nothing.
enum AuthorizeLoad {
    private static let clients: UInt32 = 16
    private static let rounds = 5
    private static let count: UInt32 = 20_000

    /// The least part of the empty route's rate.
    private static let goal = 0.6

    private struct Row {
        let name: String
        /// The socket, and the process behind it.
        let socket: String
        let process: Int32
        let keepsExchange: Bool
        var rates: [Double] = []
        var processor: [Double] = []
        /// The microseconds of all rounds.
        var latencies: [Double] = []
    }

    static func measure(_ bench: Bench) async throws {
        try await AgentProcess.with(bench) { agent in
            try await EmptyRoute.with(path: "\(bench.realm.directory)/route.sock") { route in
                try await agent.signIn()
                func row(_ name: String, keepsExchange: Bool) -> Row {
                    Row(name: name, socket: agent.apiSocket, process: agent.process, keepsExchange: keepsExchange)
                }
                var rows = [
                    row("the server's token is not looked at", keepsExchange: false),
                    row("the exchange is kept for the server's token", keepsExchange: true),
                    Row(name: EmptyRoute.name, socket: route.path, process: route.process, keepsExchange: false),
                ]
                for row in rows { _ = try load(row, count: 2000) }
                for _ in 0..<rounds {
                    for index in rows.indices { try measure(&rows[index]) }
                }
                printTable(rows)
                report("  resident after the load: \(String(format: "%.1f MiB", try agent.statistics().resident))\n")
            }
        }
    }

    private static func printTable(_ rows: [Row]) {
        report("authorize, \(clients) clients".padded(46) + "a second   50 %, ms   99 %, ms   µs of processor   of the empty route")
        for row in rows {
            let ratio = zip(row.rates, rows[rows.count - 1].rates).map { $0 / $1 }.median
            report(text(row, ratio))
            BenchmarkRow(
                row.name,
                in: "authorize, \(clients) clients",
                row.rates,
                .perSecond,
                processor: row.processor.median,
                ratios: [EmptyRoute.name: ratio]
            )?.record()
        }
        let ratio = zip(rows[0].rates, rows[rows.count - 1].rates).map { $0 / $1 }.median
        report("  goal: at least \(goal) of the empty route: \(ratio >= goal ? "reached" : "missed")")
    }

    private static func measure(_ row: inout Row) throws {
        let before = try ProcessStatistics(row.process).seconds
        let (seconds, latencies) = try load(row, count: count)
        row.processor.append((try ProcessStatistics(row.process).seconds - before) * 1e6 / Double(count))
        row.rates.append(Double(count) / seconds)
        row.latencies += latencies
    }

    private static func load(_ row: Row, count: UInt32) throws -> (seconds: Double, latencies: [Double]) {
        let body = #"{"url":"http://localhost/","keepsExchange":\#(row.keepsExchange)}"#
        let head =
            "POST /v1/authorize HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: \(body.utf8.count)\r\n\r\n"
        var latencies = [Double](repeating: 0, count: Int(count))
        let seconds = cfloor_load(row.socket, head + body, "Negotiate ", clients, count, &latencies)
        guard seconds > 0 else { throw Unavailable(reason: "\(row.name): a response had no token") }
        return (seconds, latencies)
    }

    private static func text(_ row: Row, _ ratio: Double) -> String {
        let sorted = row.latencies.sorted()
        let cells = [
            (row.rates.median, "%.0f", 10), (sorted[sorted.count / 2] / 1000, "%.2f", 11),
            (sorted[sorted.count * 99 / 100] / 1000, "%.2f", 11),
            (row.processor.median, "%.0f", 18), (ratio, "%.2f", 21),
        ]
        return "  " + row.name.padded(42) + cells.map { String(format: $1, $0).rightAligned($2) }.joined()
    }
}
