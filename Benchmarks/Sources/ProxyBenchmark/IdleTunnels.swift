import BenchmarkSupport
import CFloor
import Foundation

/// The memory and the processor time of proxies whose tunnels are idle.
enum IdleTunnels {
    private static let counts = [0, 200, 500, 2000]
    private static let seconds = 3

    /// What is measured with one number of tunnels.
    private struct Use {
        /// In MiB.
        let resident, anonymous: Double
        let proportional: Double?
        /// Milliseconds a second.
        let processor: Double
    }

    static func measure(_ bench: Bench) async throws {
        let headings = ["tunnels", "resident, MiB", "proportional, MiB", "anonymous, MiB", "KiB for a tunnel", "ms of processor a second"]
        report("idle tunnels".padded(20) + headings.map { $0.rightAligned($0.count + 3) }.joined())
        var uses: [String: [Int: Use]] = [:]
        for program in [try bench.ours(throughSquid: false), bench.px(throughSquid: false), bench.cntlm()] {
            uses[program.name] = try await Relays.with([program], bench) { relays in await measure(program.name, relays, headings) }
        }
        for count in counts.dropFirst() { report(goals(count, uses[Bench.ours]?[count], uses[Bench.px]?[count])) }
        report("")
    }

    /// The file pages of a program are shared with other processes of it, such as the agent, and can be dropped; anonymous ones cannot.
    private static func goals(_ count: Int, _ ours: Use?, _ px: Use?) -> String {
        var (all, anonymous) = (Double?.none, Double?.none)
        if let ours, let px {
            all = (ours.proportional ?? ours.resident) / (px.proportional ?? px.resident)
            anonymous = ours.anonymous / px.anonymous
        }
        return [
            Goal.atMost(1.0 / 3, "\(count) tunnels: at most a third of px's memory", all),
            Goal.atMost(1.0 / 3, "\(count) tunnels: at most a third of px's anonymous memory", anonymous),
        ].map(\.text).joined(separator: "\n")
    }

    private static func measure(_ name: String, _ relays: Relays, _ headings: [String]) async -> [Int: Use] {
        var (uses, sockets) = ([Int: Use](), [Int32]())
        defer { cfloor_close_tunnels(sockets, UInt32(sockets.count)) }
        for count in counts {
            do {
                let relay = try relays.relay(name)
                if count > sockets.count { sockets += try relay.open(count - sockets.count, atOnce: 16) }
                let use = try await use(of: relay)
                let working = cfloor_working_tunnels(sockets, UInt32(count))
                guard working == count else { throw Unavailable(reason: "only \(working) of \(count) tunnels work") }
                uses[count] = use
                BenchmarkRow(name, in: "memory with \(count) idle tunnels", [use.resident], .mebibytes)?.record()
                report(line(name, count, use, uses[0], headings))
            } catch {
                report("  \(name), \(count) tunnels: not measured: \(error)")
                break
            }
        }
        return uses
    }

    private static func use(of relay: Relay) async throws -> Use {
        try await Task.sleep(for: .seconds(1))
        let before = try relay.tree().seconds
        try await Task.sleep(for: .seconds(seconds))
        let tree = try relay.tree()
        let statistics = try tree.statistics()
        return Use(
            resident: statistics.reduce(0) { $0 + $1.resident },
            anonymous: statistics.reduce(0) { $0 + $1.anonymous },
            proportional: tree.proportional(),
            processor: (tree.seconds - before) * 1000 / Double(seconds)
        )
    }

    private static func line(_ name: String, _ count: Int, _ use: Use, _ base: Use?, _ headings: [String]) -> String {
        var each: Double?
        if let base, count > 0 { each = (use.resident - base.resident) * 1024 / Double(count) }
        let values = [use.resident, use.proportional, use.anonymous, each, use.processor]
        let cells = ["\(count)"] + values.map { value in value.map { String(format: "%.1f", $0) } ?? "-" }
        return "  " + name.padded(18) + zip(cells, headings).map { $0.rightAligned($1.count + 3) }.joined()
    }
}
