import BenchmarkSupport
import Dispatch
import Foundation
import KerberosTesting

/// Counts the instructions of a token, a decision, a request to the agent's caches and one to its API. Neither the speed of the machine nor
/// its load changes them, so a count that has grown since the record is a slower program and not a busy machine.
///
/// `InstructionBenchmark KSSO RECORD [--write]`: KSSO is the program to measure, RECORD the file of the earlier counts, which --write
/// replaces. It exits with status 1 if a count has grown by more than five percent. The benchmark starts itself with the internal commands
/// `call` and `cache`.
@main enum InstructionBenchmark {
    static func main() async {
        let arguments = Array(CommandLine.arguments.dropFirst())
        if arguments.first == "call" { return callWithoutEndOfFirstThread(arguments.dropFirst()) }
        do {
            try await run(arguments)
        } catch {
            fail(error)
        }
    }

    /// The first thread waits, because valgrind 3.19 crashes when it ends, as that of an asynchronous function does.
    private static func callWithoutEndOfFirstThread(_ arguments: ArraySlice<String>) {
        let end = DispatchSemaphore(value: 0)
        Task.detached {
            do {
                try await LibraryCall.run(arguments)
            } catch {
                fail(error)
            }
            end.signal()
        }
        end.wait()
    }

    private static func fail(_ error: any Error) {
        FileHandle.standardError.write(Data("\(error)\n".utf8))
        exit(1)
    }

    private static func run(_ arguments: [String]) async throws {
        if arguments.first == "cache" { return try CacheLoad.run(arguments.dropFirst()) }
        guard arguments.count >= 2 else { throw Unavailable(reason: "usage: InstructionBenchmark KSSO RECORD [--write]") }
        let counts = try await withTestRealm(users: ["alice": "secret"], services: ["HTTP/localhost"]) { realm in
            try await require(realm.run("kinit", ["alice"], input: "secret\n"))
            try await require(realm.run("kvno", ["HTTP/localhost"]))
            var counts: [String: Double] = [:]
            for call in LibraryCall.allCases { counts[call.title] = try await call.count(in: realm) }
            for load in AgentLoad.allCases { counts[load.title] = try await load.count(of: arguments[0], in: realm) }
            return counts
        }
        let titles = LibraryCall.allCases.map(\.title) + AgentLoad.allCases.map(\.title)
        for title in titles { BenchmarkRow(title, in: "instructions", [counts[title] ?? 0], .instructions)?.record() }
        let record = try InstructionRecord(path: arguments[1])
        if arguments.contains("--write") { return try InstructionRecord(counts: counts).write(to: arguments[1]) }
        let growth = record.report(counts, titles)
        if growth > InstructionRecord.permittedGrowth { exit(1) }
    }

    private static func require(_ result: CommandResult) throws {
        guard result.exitStatus == 0 else { throw Unavailable(reason: result.errors) }
    }
}

/// Runs a program under callgrind and reads the number of its instructions.
enum Callgrind {
    /// The runs of one row: the difference of their counts is the cost of the additional repetitions, without that of the start.
    static let repetitions: (few: Int, many: Int) = (100, 1100)

    /// The command line that runs a program, whose profile callgrind_annotate(1) prints afterwards.
    static func command(_ program: [String], profile: String) throws -> [String] {
        let folder = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../.build/callgrind").standardized
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        return ["valgrind", "--tool=callgrind", "--callgrind-out-file=\(folder.appending(path: profile).path)"] + program
    }

    /// Without seeds of their own, hash tables cost the same in each run.
    static let environment = ["SWIFT_DETERMINISTIC_HASHING": "1", "KRB5_TRACE": ""]

    /// The number of instructions that callgrind printed.
    static func instructions(in output: String) throws -> Double {
        guard let line = output.split(separator: "\n").last(where: { $0.contains("Collected : ") }),
            let count = line.split(separator: " ").last.flatMap({ Double($0) })
        else { throw Unavailable(reason: "callgrind counted nothing: \(output.suffix(500))") }
        return count
    }

    /// The instructions of one repetition.
    static func perRepetition(_ count: (Int) async throws -> Double) async throws -> Double {
        let few = try await count(repetitions.few)
        let many = try await count(repetitions.many)
        return (many - few) / Double(repetitions.many - repetitions.few)
    }
}
