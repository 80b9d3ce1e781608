import BenchmarkSupport
import Foundation

/// Requests to a server over plain http that requires a ticket for each: through this package's proxy, and by its client.
enum OriginRequests {
    private static let client = "our client (NegotiatingHTTPClient)"
    private static let proxied = "ours, C client without a ticket"

    static func measure(_ bench: Bench) async throws {
        try await Relays.with([try bench.ours(throughSquid: false)], bench) { relays in
            for load in [Load(clients: 1), Load(clients: 16)] {
                let own = Contest.Contestant(name: client) { count in
                    try await OwnClient.measure(bench, clients: load.clients, count: count)
                }
                let ours = Contest.Contestant(name: proxied) { count in
                    let relay = try relays.relay(Bench.ours)
                    let request = "GET \(bench.web.url)/hello?proxy HTTP/1.1\r\nHost: localhost:\(bench.web.port)\r\n\r\n"
                    return try load.run(port: relay.port, request, bench.greeting, count, processor: relay.seconds)
                }
                let px = Contest.Contestant(name: Bench.px) { _ in throw Unavailable(reason: "it answers proxies only, no server") }
                let contest = try await Contest.run([own, ours, px], warmUp: 100, limits: 100...8000)
                report(contest.table("a server that asks for a ticket, \(load.title)", Load.columns))
                let ratio = contest.ratio(proxied, to: client, .highLatency)
                report(Goal.atMost(1.3, "99 % within 1.3 times our client's time", ratio).text + "\n")
            }
        }
        report(try ["client", "proxy"].map { try authentication($0, bench) }.joined(separator: "\n") + "\n")
    }

    /// What the server logged about the requests with a query.
    private static func authentication(_ query: String, _ bench: Bench) throws -> String {
        let lines = try bench.web.accessLog().split(separator: "\n").filter { $0.contains("/hello?\(query) ") }
        let accepted = lines.filter { $0.hasPrefix("200 ") }
        let named = accepted.filter { $0.contains(" alice@\(bench.realm.name) ") }.count
        return "  the server's log: \(query): \(named) of \(accepted.count) responses for alice, \(lines.count - accepted.count) times 401"
    }
}
