import BenchmarkSupport
import Foundation

/// The curl command: one process, one connection, a URL for each request.
enum Curl {
    static func rows(_ site: Site) -> [Row] {
        [
            row(Rows.reference, site, tag: "curl", schemes: ["--negotiate"]),
            row(Rows.curlAskedFirst, site, tag: "curl401", schemes: ["--anyauth"]),
        ]
    }

    private static func row(_ name: String, _ site: Site, tag: String, schemes: [String]) -> Row {
        let certificate = site.certificate.map { ["--cacert", $0] } ?? []
        // The first argument makes curl ignore .curlrc; it has this effect only as the first one.
        let options = ["--disable", "--silent", "--show-error", "--user", ":", "--write-out", "%{http_code}\\n"] + schemes + certificate
        return Row(name: name, tag: tag) { count in
            // The duration of a run with one request, which includes the start and the first connection, is subtracted.
            let start = try await timing(site, options, tag: tag, count: 1)
            return try await timing(site, options, tag: tag, count: count + 1) - start
        }
    }

    private static func timing(_ site: Site, _ options: [String], tag: String, count: Int) async throws -> Timing {
        var output = ""
        let timing = try await Timing.of(.ended) {
            output = try await site.run("curl", options + ["\(site.server.url)/hello?\(tag)&[1-\(count)]"])
        }
        guard output == String(repeating: "\(site.greeting)200\n", count: count) else {
            throw Unavailable(reason: "curl did not get \(count) pages with the greeting: \(output.prefix(200))")
        }
        return timing
    }
}
