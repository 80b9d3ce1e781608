import BenchmarkSupport
import Foundation

/// The kernel's statistics of a process.
struct ProcessStatistics {
    /// In MiB.
    let resident, anonymous: Double
    let threads: Int
    /// In processor time.
    let seconds: Double

    init(_ process: Int32) throws {
        let lines = try String(contentsOfFile: "/proc/\(process)/status", encoding: .utf8).split(separator: "\n")
        func number(_ name: String) throws -> Double {
            guard let line = lines.first(where: { $0.hasPrefix(name + ":") }),
                let value = line.split(whereSeparator: \.isWhitespace).dropFirst().first.flatMap({ Double($0) })
            else { throw Unavailable(reason: "/proc/\(process)/status has no \(name)") }
            return value
        }
        resident = try number("VmRSS") / 1024
        anonymous = try number("RssAnon") / 1024
        threads = Int(try number("Threads"))
        // The name in parentheses may contain spaces.
        let fields = try String(contentsOfFile: "/proc/\(process)/stat", encoding: .utf8).split(separator: ")").last?.split(separator: " ")
        guard let fields, fields.count > 12, let user = Double(fields[11]), let system = Double(fields[12]) else {
            throw Unavailable(reason: "/proc/\(process)/stat is not as it was")
        }
        seconds = (user + system) / Double(sysconf(Int32(_SC_CLK_TCK)))
    }
}
