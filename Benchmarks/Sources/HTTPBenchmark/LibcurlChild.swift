import BenchmarkSupport
import CFloor
import Foundation

/// libcurl as a C program uses it, with one handle for all requests: curl without the cost of its command line.
///
/// It runs in its own process because it finds its tickets through the environment. There is no row for a handle that waits for a 401: it
/// remembers the scheme that worked, and sends a preemptive token from the second request on.
enum LibcurlChild {
    static func rows(_ site: Site) -> [Row] {
        [(Rows.libcurlUnauthenticated, "open", "open\n", "libcurlopen"), (Rows.libcurl, "hello", site.greeting, "libcurl")].map {
            name,
            page,
            expected,
            tag in
            Row(name: name, tag: tag) { count in
                let words = ["libcurl", page, "\(site.server.url)/\(page)?\(tag)", expected, "\(count)", site.certificate ?? ""]
                return try Timing(printed: try await site.run(ownPath(), words))
            }
        }
    }

    static func run(_ arguments: ArraySlice<String>) throws {
        let words = Array(arguments)
        guard words.count == 5, let count = UInt32(words[3]) else { throw Unavailable(reason: "libcurl: wrong arguments") }
        let processor = Timing.processorSeconds(.this)
        let microseconds = cfloor_libcurl(words[1], words[4].isEmpty ? nil : words[4], words[0] == "hello" ? 1 : 0, words[2], count)
        guard microseconds > 0 else { throw Unavailable(reason: "libcurl.so.4 is missing, or a response was not the greeting") }
        print(microseconds / 1e6 * Double(count), Timing.processorSeconds(.this) - processor)
    }
}
