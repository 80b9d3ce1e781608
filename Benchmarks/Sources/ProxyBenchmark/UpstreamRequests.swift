import BenchmarkSupport
import CFloor
import Foundation

/// Requests through a squid that requires a ticket, for clients that know no Kerberos.
///
/// The squid authenticates connections: only the first request of each carries a ticket. A C client that sends a ticket of its own to the
/// squid is the base to which a proxy adds its latency.
enum UpstreamRequests {
    private static let direct = "the squid itself, C client with a ticket"

    static func measure(_ bench: Bench) async throws {
        let ticket = try token(bench)
        try await Relays.with([try bench.ours(throughSquid: true), bench.px(throughSquid: true)], bench) { relays in
            for load in [Load(clients: 1), Load(clients: 16), Load(clients: 16, reconnects: true)] {
                let first = requestText(bench, "direct", fields: "Proxy-Authorization: Negotiate \(ticket)\r\n")
                let base = Contest.Contestant(name: direct) { count in
                    try load.run(port: bench.squid.port, first: first, requestText(bench, "direct"), "open\n", count, processor: { nil })
                }
                let rows = [Bench.ours, Bench.px].map { name in
                    Contest.Contestant(name: name) { count in
                        let relay = try relays.relay(name)
                        return try load.run(
                            port: relay.port,
                            requestText(bench, tag(name)),
                            "open\n",
                            count,
                            processor: relay.seconds
                        )
                    }
                }
                let contest = try await Contest.run([base] + rows, warmUp: 40, limits: 32...8000)
                report(contest.table("through a squid, \(load.title)", Load.columns))
                report(goals(contest))
            }
        }
        report(try [Bench.ours, Bench.px].map { try authentication($0, bench) }.joined(separator: "\n") + "\n")
    }

    private static func goals(_ contest: Contest) -> String {
        func added(_ name: String) -> Double? {
            guard let own = contest.median(name, .middleLatency), let base = contest.median(direct, .middleLatency) else { return nil }
            return own - base
        }
        var ratio: Double?
        if let ours = added(Bench.ours), let px = added(Bench.px) { ratio = ours / px }
        return [
            Goal.atLeast(3, "at least 3 times px's requests a second", contest.ratio(Bench.ours, to: Bench.px, .rate)),
            Goal.atMost(1.0 / 3, "at most a third of the latency that px adds", ratio),
        ].map(\.text).joined(separator: "\n") + "\n" + contest.limit(direct, atLeast: 3, times: Bench.px)
    }

    private static func tag(_ name: String) -> String { String(name.prefix { $0 != " " }) }

    /// A request of the open page, with the client's name as the query.
    private static func requestText(_ bench: Bench, _ tag: String, fields: String = "") -> String {
        "GET \(bench.web.url)/open?\(tag) HTTP/1.1\r\nHost: localhost:\(bench.web.port)\r\n\(fields)\r\n"
    }

    /// A token for the squid, which accepts it on each connection because it has no replay cache.
    private static func token(_ bench: Bench) throws -> String {
        guard let floor = cfloor_open(bench.cache, bench.service) else { throw Unavailable(reason: "the C client could not be opened") }
        defer { cfloor_close(floor) }
        var text = [CChar](repeating: 0, count: 1 << 17)
        guard cfloor_make_token_text(floor, &text, UInt(text.count)) != 0 else { throw Unavailable(reason: "the C client got no token") }
        return String(decoding: text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    /// What the squid logged about the requests of a program.
    private static func authentication(_ name: String, _ bench: Bench) throws -> String {
        let counts = try bench.squid.requests(endingWith: "/open?\(tag(name))", user: "alice@\(bench.realm.name)")
        let total = counts.authenticated + counts.others
        return "  the squid's log: \(name): \(counts.authenticated) of \(total) responses for alice, \(counts.challenged) times 407"
    }
}

/// Clients that each send one request after the other.
struct Load: Sendable {
    let clients: Int
    /// Whether each request has a new connection.
    var reconnects = false

    var title: String {
        "\(clients) client\(clients == 1 ? "" : "s"), \(reconnects ? "a connection for each request" : "persistent connections")"
    }

    static let columns = [
        Contest.Column(title: "a second", figure: .rate, digits: 0), Contest.Column(title: "50 %, ms", figure: .middleLatency),
        Contest.Column(title: "99 %, ms", figure: .highLatency), Contest.Column(title: "µs of processor", figure: .processor, digits: 0),
    ]

    /// Sends requests from C.
    ///
    /// - Parameters:
    ///   - first: What a new connection sends instead of the request.
    ///   - processor: Returns the seconds of processor time of the measured program.
    func run(
        port: Int,
        first: String? = nil,
        _ request: String,
        _ expected: String,
        _ count: Int,
        processor: () throws -> Double?
    ) throws -> Sample {
        var latencies = [Double](repeating: 0, count: count)
        let before = try processor()
        let seconds = cfloor_load_port(
            Int32(port),
            first,
            request,
            expected,
            reconnects ? 1 : 0,
            UInt32(clients),
            UInt32(count),
            &latencies
        )
        guard seconds > 0 else { throw Unavailable(reason: String(cString: cfloor_failure())) }
        let after = try processor()
        var used: Double?
        if let before, let after { used = after - before }
        return Sample(count: count, seconds: seconds, processor: used, latencies: latencies)
    }
}
