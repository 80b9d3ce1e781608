import BenchmarkSupport
import CFloor
import Foundation

/// Bytes through open tunnels, directly to a server on the same machine.
enum TunnelThroughput {
    private struct Shape: Sendable {
        let tunnels: Int
        let sends: Bool

        var title: String { "\(tunnels) tunnel\(tunnels == 1 ? "" : "s"), \(sends ? "sending" : "receiving")" }
    }

    static func measure(_ bench: Bench) async throws {
        let programs = [
            try bench.ours(throughSquid: false), bench.px(throughSquid: false), bench.cntlm(), bench.socat(),
            bench.socat(bufferSize: 65_536),
        ]
        try await Relays.with(programs, bench) { relays in
            for shape in [Shape(tunnels: 1, sends: false), Shape(tunnels: 1, sends: true), Shape(tunnels: 8, sends: false)] {
                let direct = Relay.target(bench)
                let rows =
                    [Contest.Contestant(name: direct.name) { try transfer($0, through: direct, shape) }]
                    + programs.map { program in
                        Contest.Contestant(name: program.name) { try transfer($0, through: try relays.relay(program.name), shape) }
                    }
                let contest = try await Contest.run(rows, warmUp: 32, limits: 32...4096)
                let columns = [
                    Contest.Column(title: "MiB a second", figure: .rate, digits: 0),
                    Contest.Column(title: "ms of processor for a GiB", figure: .processor, digits: 0),
                ]
                report(contest.table(shape.title, columns))
                report(goals(contest))
            }
        }
    }

    private static func goals(_ contest: Contest) -> String {
        func ratio(_ name: String) -> Double? { contest.ratio(Bench.ours, to: name, .rate) }
        return [
            Goal.atLeast(0.9, "at least 0.9 of socat", ratio(Bench.socat)),
            Goal.atLeast(0.9, "at least 0.9 of \(Bench.socatLargeBuffer)", ratio(Bench.socatLargeBuffer)),
            Goal.atLeast(3, "at least 3 times px", ratio(Bench.px)),
        ].map(\.text).joined(separator: "\n") + "\n" + contest.limit("no relay", atLeast: 3, times: Bench.px)
    }

    private static func transfer(_ count: Int, through relay: Relay, _ shape: Shape) throws -> Sample {
        let sockets = try relay.open(shape.tunnels, atOnce: shape.tunnels)
        defer { cfloor_close_tunnels(sockets, UInt32(sockets.count)) }
        let bytes = UInt64(count / shape.tunnels) << 20
        let before = try relay.seconds()
        let seconds = cfloor_transfer(sockets, UInt32(sockets.count), bytes, shape.sends ? 1 : 0)
        guard seconds > 0 else { throw Unavailable(reason: String(cString: cfloor_failure())) }
        let after = try relay.seconds()
        let transferred = Double(bytes >> 20) * Double(shape.tunnels)
        var sample: Sample = [.rate: transferred / seconds]
        if let before, let after { sample[.processor] = (after - before) * 1000 / (transferred / 1024) }
        return sample
    }
}
