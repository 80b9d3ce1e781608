import Foundation

/// The kernel's statistics of a process.
package struct ProcessStatistics: Sendable {
    /// In MiB.
    package let resident, anonymous: Double
    package let threads: Int
    /// In processor time.
    package let seconds: Double

    package init(_ process: Int32) throws {
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
        seconds = try ProcessTimes(process).own
    }
}

/// The processor time of a process, and its place in the tree of processes.
package struct ProcessTimes: Sendable {
    package let parent: Int32
    /// In processor time: the process's own, and that of its children that have exited.
    package let own, exitedChildren: Double

    package init(_ process: Int32) throws {
        // The name in parentheses may contain spaces.
        let fields = try String(contentsOfFile: "/proc/\(process)/stat", encoding: .utf8).split(separator: ")").last?.split(separator: " ")
        guard let fields, fields.count > 14, let parent = Int32(fields[1]) else {
            throw Unavailable(reason: "/proc/\(process)/stat is not as it was")
        }
        let times = fields[11...14].map { (Double($0) ?? 0) / Double(sysconf(Int32(_SC_CLK_TCK))) }
        (self.parent, own, exitedChildren) = (parent, times[0] + times[1], times[2] + times[3])
    }
}

/// A process and its descendants.
package struct ProcessTree: Sendable {
    package let processes: [Int32]
    /// In processor time, with that of children of the root that have exited.
    package let seconds: Double

    package init(root: Int32) throws {
        var times: [Int32: ProcessTimes] = [:]
        for name in try FileManager.default.contentsOfDirectory(atPath: "/proc") {
            // A process may exit in the meantime.
            if let process = Int32(name) { times[process] = try? ProcessTimes(process) }
        }
        guard let first = times[root] else { throw Unavailable(reason: "the process has exited") }
        var found = [root]
        var next = found.startIndex
        while next < found.endIndex {
            let parent = found[next]
            found += times.filter { $0.value.parent == parent }.keys
            next += 1
        }
        processes = found
        seconds = first.exitedChildren + found.reduce(0) { $0 + (times[$1]?.own ?? 0) }
    }

    /// The statistics of each process.
    package func statistics() throws -> [ProcessStatistics] { try processes.map { try ProcessStatistics($0) } }

    /// The resident memory in MiB, with each page divided by the number of processes that use it; nil if the kernel does not tell.
    package func proportional() -> Double? {
        var sum = 0.0
        for process in processes {
            guard let text = try? String(contentsOfFile: "/proc/\(process)/smaps_rollup", encoding: .utf8),
                let line = text.split(separator: "\n").first(where: { $0.hasPrefix("Pss:") }),
                let value = line.split(whereSeparator: \.isWhitespace).dropFirst().first.flatMap({ Double($0) })
            else { return nil }
            sum += value / 1024
        }
        return sum
    }
}
