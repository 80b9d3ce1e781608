import BenchmarkSupport
import Foundation

/// The memory use of the agent.
enum MemoryUse {
    static func measure(_ bench: Bench) async throws {
        report("the agent's memory".padded(46) + "resident   anonymous   threads   goal")
        try await AgentProcess.with(bench) { agent in
            try await agent.signIn()
            try await agent.settle()
            row("one user has just signed in", try agent.statistics())
            try await Task.sleep(for: .seconds(16))
            row("idle for 16 seconds", try agent.statistics(), goal: 35)
            let size = CacheSize.large
            let client = try CacheClient.command(bench, size: size, fillsOnly: true)
            _ = try await bench.run(client[0], Array(client.dropFirst()), environment: agent.environment)
            try await agent.settle()
            row("with \(size.text)", try agent.statistics(), goal: 64)
        }
        report("")
    }

    private static func row(_ name: String, _ statistics: ProcessStatistics, goal: Double? = nil) {
        let cells = [
            String(format: "%.1f MiB", statistics.resident), String(format: "%.1f MiB", statistics.anonymous), "\(statistics.threads)",
        ]
        let verdict = goal.map { "at most \(Int($0)) MiB: \(statistics.resident <= $0 ? "reached" : "missed")" } ?? ""
        report("  " + name.padded(40) + cells.map { $0.rightAligned(12) }.joined() + "   " + verdict)
    }
}
