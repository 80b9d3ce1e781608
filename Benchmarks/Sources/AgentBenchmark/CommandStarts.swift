import BenchmarkSupport
import CFloor
import Foundation

/// The time of short commands from their start to their exit, next to klist.
enum CommandStarts {
    private static let rounds = 60

    private struct Row {
        let name: String
        let command: [String]
        let environment: [String: String]
        /// In milliseconds.
        let goal: Double?
        var wall: [Double] = []
        var processor: [Double] = []
    }

    static func measure(_ bench: Bench) async throws {
        try await AgentProcess.with(bench) { agent in
            try await agent.signIn()
            var environment = bench.realm.environment.merging(agent.environment) { $1 }
            environment["KRB5_CONFIG"] = bench.realm.configurationPath
            environment["KRB5CCNAME"] = nil
            func ours(_ arguments: String..., goal: Double) -> Row {
                Row(name: "ksso \(arguments[0])", command: [bench.ksso] + arguments, environment: environment, goal: goal)
            }
            var rows = [
                ours("--version", goal: 6), ours("status", goal: 10), ours("header", "http://localhost/", goal: 12),
                Row(name: "klist", command: ["/usr/bin/klist"], environment: agent.environment, goal: nil),
            ]
            for row in rows { _ = try run(row) }
            for _ in 0..<rounds {
                for index in rows.indices {
                    let times = try run(rows[index])
                    rows[index].wall.append(times.wall)
                    rows[index].processor.append(times.processor)
                }
            }
            report("a command, from start to exit".padded(46) + "ms   ms of processor   goal")
            for row in rows { report(text(row)) }
            let size = try FileManager.default.attributesOfItem(atPath: bench.ksso)[.size] as? Int ?? 0
            report("  the program: \(String(format: "%.1f MiB", Double(size) / 1_048_576)) (goal: less than 12)\n")
        }
    }

    private static func text(_ row: Row) -> String {
        let (wall, processor) = (row.wall.median, row.processor.median)
        BenchmarkRow(row.name, in: "commands", row.wall, .milliseconds, processor: processor * 1000)?.record()
        let cells = [String(format: "%.1f", wall).rightAligned(6), String(format: "%.1f", processor).rightAligned(18)].joined()
        let verdict = row.goal.map { "   less than \(Int($0)) ms: \(wall < $0 ? "reached" : "missed")" } ?? ""
        return "  " + row.name.padded(40) + cells + verdict
    }

    /// Milliseconds.
    private static func run(_ row: Row) throws -> (wall: Double, processor: Double) {
        var (arguments, variables) = (row.command.map { strdup($0) }, row.environment.map { strdup("\($0.key)=\($0.value)") })
        defer { for text in arguments + variables { free(text) } }
        arguments.append(nil)
        variables.append(nil)
        var processor = 0.0
        let wall = cfloor_command(arguments, variables, &processor)
        guard wall > 0 else { throw Unavailable(reason: "\(row.command.joined(separator: " ")) failed") }
        return (wall / 1000, processor / 1000)
    }
}
