import CFloor
import Foundation

/// libcurl as a C program uses it, one handle for all requests: curl without what its command line costs.
///
/// It runs in a process of its own, since it takes its tickets by the environment. There is no row for a handle that waits for a 401: it
/// remembers the scheme that worked, and sends a ticket at once from the second request on.
enum LibcurlChild {
    static func row(_ site: Site) -> Row {
        Row(name: "libcurl, one handle", tag: "libcurl") { count in
            let arguments = ["libcurl", "\(site.server.url)/hello?libcurl", site.greeting, "\(count)", site.certificate ?? ""]
            return try Timing(printed: try await site.run(ownPath(), arguments))
        }
    }

    static func run(_ arguments: ArraySlice<String>) throws {
        let words = Array(arguments)
        guard words.count == 4, let count = UInt32(words[2]) else { throw Unavailable(reason: "libcurl: wrong arguments") }
        let processor = Timing.processorSeconds(.this)
        let microseconds = cfloor_libcurl(words[0], words[3].isEmpty ? nil : words[3], words[1], count)
        guard microseconds > 0 else { throw Unavailable(reason: "libcurl.so.4 is missing, or an answer was not the greeting") }
        print(microseconds / 1e6 * Double(count), Timing.processorSeconds(.this) - processor)
    }
}
