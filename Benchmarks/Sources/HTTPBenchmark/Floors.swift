import BenchmarkSupport
import CFloor
import Foundation

/// The costs of the C library and the server, and the resulting limit for this package's client.
struct Floors {
    private static let rounds = 7

    /// The microseconds, round by round.
    private var (tokens, accepts, acquires, verifies) = ([Double](), [Double](), [Double](), [Double]())
    private var (open, hello) = ([Double](), [Double]())

    /// Measures over plain HTTP, and prints the results next to those of a comparison.
    static func measure(_ site: Site, comparedWith comparison: Comparison) throws {
        guard let floor = cfloor_open(site.cache, site.service) else { throw Unavailable(reason: "the C floor could not be opened") }
        defer { cfloor_close(floor) }
        var floors = Floors()
        for _ in 0..<rounds { try floors.measureRound(floor, site) }
        report(floors.table + floors.verdict(on: comparison))
    }

    private mutating func measureRound(_ floor: OpaquePointer, _ site: Site) throws {
        var times = cfloor_times()
        guard cfloor_exchanges(floor, "FILE:\(site.realm.keytabPath)", 1000, &times) != 0 else {
            throw Unavailable(reason: "the C loop of exchanges failed")
        }
        tokens.append(times.token)
        accepts.append(times.accept)
        acquires.append(times.acquire)
        verifies.append(times.verify)
        // The greeting is sent in two chunks.
        let name = String(site.greeting.dropFirst("Hello ".count))
        let port = Int32(site.server.port)
        open.append(cfloor_requests(nil, port, "/open?cloop", "open\n", 2000))
        hello.append(cfloor_requests(floor, port, "/hello?cloop", name, 1000))
        guard open.last ?? -1 > 0, hello.last ?? -1 > 0 else { throw Unavailable(reason: "the C loop of requests failed") }
    }

    private var table: String {
        """
        plain C loops, µs each
          token (gss_init_sec_context)                        \(text(tokens.median))
          the server's check (gss_accept_sec_context)         \(text(accepts.median))
          opening the server's credential, as Apache does     \(text(acquires.median))
          verifying the server's token                        \(text(verifies.median))
          a request over a socket, no authentication          \(text(open.median))
          the same with a token made beforehand               \(text(hello.median))

        """
    }

    /// What a token adds to a request, compared with two tokens and the server's check. The check is how much longer a request takes with a
    /// token made beforehand.
    private func verdict(on comparison: Comparison) -> String {
        guard let own = comparison.microseconds(Rows.preemptive), let bare = comparison.microseconds(Rows.unauthenticated) else {
            return ""
        }
        let check = zip(hello, open).map { $0 - $1 }.median
        let allowed = 2 * tokens.median + check
        var lines = ["what a ticket adds to a request, µs", line(Rows.preemptive, own - bare)]
        if let signedIn = comparison.microseconds(Rows.libcurl), let open = comparison.microseconds(Rows.libcurlUnauthenticated) {
            lines.append(line(Rows.libcurl, signedIn - open))
        }
        lines.append(line("two tokens (\(text(2 * tokens.median, width: 0))) and the server's check (\(text(check, width: 0)))", allowed))
        lines.append("  ours: \(own - bare <= allowed ? "within" : "exceeded")")
        return lines.joined(separator: "\n") + "\n"
    }

    private func line(_ name: String, _ value: Double) -> String { "  " + name.padded(52) + text(value) }

    private func text(_ value: Double, width: Int = 8) -> String { String(format: "%.1f", value).rightAligned(width) }
}
