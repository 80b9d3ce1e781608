import BenchmarkSupport
import CFloor
import Foundation

/// Tokens from the agent's API: 16 concurrent clients, each with its own persistent connection.
enum AuthorizeLoad {
    private static let clients: UInt32 = 16
    private static let rounds = 5
    private static let count: UInt32 = 20_000

    private struct Row {
        let name: String
        let keepsExchange: Bool
        var rates: [Double] = []
        var processor: [Double] = []
        /// The microseconds of all rounds.
        var latencies: [Double] = []
    }

    static func measure(_ bench: Bench) async throws {
        try await AgentProcess.with(bench) { agent in
            try await agent.signIn()
            var rows = [
                Row(name: "the server's token is not looked at", keepsExchange: false),
                Row(name: "the exchange is kept for the server's token", keepsExchange: true),
            ]
            for row in rows { _ = try load(agent, row, count: 2000) }
            for _ in 0..<rounds {
                for index in rows.indices { try measure(agent, &rows[index]) }
            }
            let memory = try agent.statistics().resident
            report("authorize, \(clients) clients".padded(46) + "a second   50 %, ms   99 %, ms   µs of processor")
            for row in rows { report(text(row)) }
            report("  goal: 10000 a second, 99 % within 5 ms; resident after the load: \(String(format: "%.1f MiB", memory))\n")
        }
    }

    private static func measure(_ agent: AgentProcess, _ row: inout Row) throws {
        let before = try agent.statistics().seconds
        let (seconds, latencies) = try load(agent, row, count: count)
        row.processor.append((try agent.statistics().seconds - before) * 1e6 / Double(count))
        row.rates.append(Double(count) / seconds)
        row.latencies += latencies
    }

    private static func load(_ agent: AgentProcess, _ row: Row, count: UInt32) throws -> (seconds: Double, latencies: [Double]) {
        let body = #"{"url":"http://localhost/","keepsExchange":\#(row.keepsExchange)}"#
        let head =
            "POST /v1/authorize HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: \(body.utf8.count)\r\n\r\n"
        var latencies = [Double](repeating: 0, count: Int(count))
        let seconds = cfloor_load(agent.apiSocket, head + body, "Negotiate ", clients, count, &latencies)
        guard seconds > 0 else { throw Unavailable(reason: "a response of the agent had no token") }
        return (seconds, latencies)
    }

    private static func text(_ row: Row) -> String {
        let sorted = row.latencies.sorted()
        let cells = [
            (row.rates.median, "%.0f", 10), (sorted[sorted.count / 2] / 1000, "%.2f", 11),
            (sorted[sorted.count * 99 / 100] / 1000, "%.2f", 11),
            (row.processor.median, "%.0f", 18),
        ]
        return "  " + row.name.padded(42) + cells.map { String(format: $1, $0).rightAligned($2) }.joined()
    }
}
