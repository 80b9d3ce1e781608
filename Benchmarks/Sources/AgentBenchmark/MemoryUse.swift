import BenchmarkSupport
import Foundation

/// The memory use of the agent, and of the other servers with the same tickets.
enum MemoryUse {
    static func measure(_ bench: Bench) async throws {
        report("memory, MiB".padded(46) + "resident   anonymous   threads   goal")
        try await AgentProcess.with(bench) { agent in
            try await agent.signIn()
            try await agent.settle()
            row("one user has just signed in", try agent.statistics(), goal: 20)
            try await Task.sleep(for: .seconds(16))
            row("idle for 16 seconds", try agent.statistics(), goal: 12)
            let size = CacheSize.large
            let client = try CacheClient.command(bench, "fill", size: size)
            _ = try await bench.run(client[0], Array(client.dropFirst()), environment: agent.environment)
            try await agent.settle()
            row("with \(size.text)", try agent.statistics(), goal: 40)
        }
        for server in await CacheServer.peers(bench) {
            for size in [CacheSize(tickets: 1), .large] { await measure(server, size, bench) }
        }
        report("")
    }

    private static func measure(_ server: CacheServer, _ size: CacheSize, _ bench: Bench) async {
        let name = "\(server.name), with \(size.text)"
        do {
            let words = try await server.run(try CacheClient.command(bench, "memory", size: size)).split(whereSeparator: \.isWhitespace)
            guard words.count == 4, words[0] == "memory", let resident = Double(words[1]), let anonymous = Double(words[2]) else {
                throw Unavailable(reason: "the client printed \(words.joined(separator: " "))")
            }
            row(name, resident, anonymous, String(words[3]), goal: nil)
        } catch {
            report("  \(name): not measured: \(error)")
        }
    }

    private static func row(_ name: String, _ statistics: ProcessStatistics, goal: Double) {
        row("ours: " + name, statistics.resident, statistics.anonymous, "\(statistics.threads)", goal: goal)
    }

    private static func row(_ name: String, _ resident: Double, _ anonymous: Double, _ threads: String, goal: Double?) {
        BenchmarkRow(name, in: "memory", [resident], .mebibytes)?.record()
        let cells = [String(format: "%.1f", resident), String(format: "%.1f", anonymous), threads]
        let verdict = goal.map { "at most \(Int($0)) MiB: \(resident <= $0 ? "reached" : "missed")" } ?? ""
        report("  " + name.padded(40) + cells.map { $0.rightAligned(12) }.joined() + "   " + verdict)
    }
}
