import BenchmarkSupport
import Foundation

/// Tunnels that are opened, used for one answer of the server and closed.
enum NewTunnels {
    private static let atOnce = 16

    static func measure(_ bench: Bench) async throws {
        let direct = [try bench.ours(throughSquid: false), bench.px(throughSquid: false), bench.cntlm(), bench.socat()]
        try await measure("new tunnels, \(atOnce) at once", direct, bench)
        let throughSquid = [try bench.ours(throughSquid: true), bench.px(throughSquid: true)]
        try await measure("new tunnels through a squid, a ticket for each", throughSquid, bench)
    }

    private static func measure(_ title: String, _ programs: [RelayProgram], _ bench: Bench) async throws {
        try await Relays.with(programs, bench) { relays in
            let rows = programs.map { program in
                Contest.Contestant(name: program.name) { count in
                    let relay = try relays.relay(program.name)
                    let before = try relay.seconds()
                    let (seconds, latencies) = try relay.openAndClose(count, atOnce: atOnce)
                    let after = try relay.seconds()
                    var used: Double?
                    if let before, let after { used = after - before }
                    return Sample(count: count, seconds: seconds, processor: used, latencies: latencies)
                }
            }
            let contest = try await Contest.run(rows, warmUp: 32, limits: 32...4000)
            report(contest.table(title, Load.columns))
            report(Goal.atLeast(3, "at least 3 times px's tunnels a second", contest.ratio(Bench.ours, to: Bench.px, .rate)).text + "\n")
        }
    }
}
