import BenchmarkSupport
import Foundation

/// Compares the servers by the size of the cache.
struct CacheComparison {
    /// The microseconds of one operation, and the ratios to the empty server and the FILE cache in the same rounds.
    private struct Figure {
        let own, floor, file, overFloor, overFile: Double
    }

    private var figures: [String: [CacheSize: [CacheOperation: Figure]]] = [:]
    private static let tooSlow = "not run"
    /// Why there are no measurements.
    private var gaps: [String: [CacheSize: String]] = [:]
    private var names: [String] = []

    static func measure(_ bench: Bench) async throws {
        var comparison = CacheComparison()
        try await AgentProcess.with(bench) { agent in
            for server in [CacheServer.own(agent)] + (await CacheServer.peers(bench)) {
                comparison.names.append(server.name)
                for size in CacheSize.all { await comparison.measure(server, size, bench) }
            }
        }
        for operation in CacheOperation.allCases { report(comparison.table(operation)) }
        report(comparison.notes)
    }

    private mutating func measure(_ server: CacheServer, _ size: CacheSize, _ bench: Bench) async {
        // A server that was too slow for fewer tickets is not measured with more.
        if let gap = gaps[server.name]?.first(where: { $0.key.tickets <= size.tickets && $0.value.hasPrefix(Self.tooSlow) }) {
            return gaps[server.name, default: [:]][size] = gap.value
        }
        do {
            let output = try await server.run(try CacheClient.command(bench, size: size))
            for line in output.split(separator: "\n") { try read(line.split(separator: " ").map(String.init), server, size) }
        } catch {
            gaps[server.name, default: [:]][size] = "not measured: \(error)"
        }
    }

    private mutating func read(_ words: [String], _ server: CacheServer, _ size: CacheSize) throws {
        let numbers = words.dropFirst().compactMap { Double($0) }
        if words.first == "filled", numbers.count == 2 {
            // Each ticket takes longer than the previous one.
            let seconds = numbers[1] * pow(Double(size.tickets) / numbers[0], 2)
            gaps[server.name, default: [:]][size] =
                "\(Self.tooSlow): \(Int(numbers[0])) tickets were stored in \(Int(numbers[1])) s, so that all would take about \(Int(seconds / 60)) minutes"
        } else if let operation = words.first.flatMap(CacheOperation.init), numbers.count == 5 {
            let figure = Figure(own: numbers[0], floor: numbers[1], file: numbers[2], overFloor: numbers[3], overFile: numbers[4])
            figures[server.name, default: [:]][size, default: [:]][operation] = figure
            BenchmarkRow(
                "\(server.name), \(size.text)",
                in: operation.title,
                [figure.own],
                .microseconds,
                ratios: ["the empty server": figure.overFloor, "a FILE cache": figure.overFile]
            )?.record()
        } else {
            throw Unavailable(reason: "the client printed \(words.joined(separator: " "))")
        }
    }

    // MARK: - The table

    private func table(_ operation: CacheOperation) -> String {
        let heading = "\(operation.title), µs (over the empty server; over a FILE cache)"
        let columns = "".padded(20) + CacheSize.all.map { $0.text.rightAligned(26) }.joined()
        let rows = names.map { name in
            "  " + name.padded(18) + CacheSize.all.map { text(figures[name]?[$0]?[operation]).rightAligned(26) }.joined()
        }
        let ours = CacheSize.all.map { figures[names[0]]?[$0]?[operation] }
        let bases = [("a FILE cache", ours.map { $0?.file }), ("the empty server", ours.map { $0?.floor })].map { name, values in
            "  " + name.padded(18) + values.map { ($0.map { String(format: "%.0f", $0) } ?? "-").rightAligned(26) }.joined()
        }
        return ([heading, columns] + rows + bases + [goal(operation)]).joined(separator: "\n") + "\n"
    }

    private func text(_ figure: Figure?) -> String {
        figure.map { String(format: "%.0f (%.2f; %.2f)", $0.own, $0.overFloor, $0.overFile) } ?? "-"
    }

    private func goal(_ operation: CacheOperation) -> String {
        let ours = figures[names[0]] ?? [:]
        let sizes = CacheSize.all.filter { $0 != .large }
        let found = sizes.compactMap { ours[$0]?[operation] }
        guard let first = found.first, let last = found.last, found.count == sizes.count else { return "  goal: not known" }
        let growth = last.own / first.own
        let (worst, worstFile) = (found.map(\.overFloor).max() ?? 0, found.map(\.overFile).max() ?? 0)
        func verdict(_ reached: Bool) -> String { reached ? "reached" : "missed" }
        return switch operation {
        case .retrieve: String(format: "  goal: flat; 10000 tickets over one: %.2f", growth)
        case .held:
            String(format: "  goal: flat; 10000 tickets over one: %.2f; at most 1.5 of the empty server: ", growth) + verdict(worst <= 1.5)
        case .fresh: "  goal: no slower than a FILE cache of that size: " + verdict(worstFile <= 1)
        case .store, .replace: "  goal: at most 1.5 of the empty server: " + verdict(worst <= 1.5)
        }
    }

    private var notes: String {
        names.flatMap { name in CacheSize.all.compactMap { size in gaps[name]?[size].map { "  \(name), \(size.text): \($0)" } } }.joined(
            separator: "\n"
        )
    }
}
