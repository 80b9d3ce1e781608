import BenchmarkSupport
import Foundation

/// Measures the agent as a credential cache, compared with its peers, a FILE cache and an empty server in one run; its API under load; and
/// its memory.
///
/// `AgentBenchmark KSSO [memory|commands|authorize|caches]…`: KSSO is the program to measure; by default everything is measured. The
/// benchmark starts itself with the internal commands `client` and `route`.
@main enum AgentBenchmark {
    static func main() async {
        do {
            try await run(Array(CommandLine.arguments.dropFirst()))
        } catch {
            FileHandle.standardError.write(Data("\(error)\n".utf8))
            exit(1)
        }
    }

    private static func run(_ arguments: [String]) async throws {
        guard let ksso = arguments.first else {
            throw Unavailable(reason: "usage: AgentBenchmark KSSO [memory|commands|authorize|caches]…")
        }
        if ksso == "client" { return try CacheClient.run(arguments.dropFirst()) }
        if ksso == "route" { return try await EmptyRoute.run(arguments.dropFirst()) }
        let parts = arguments.count > 1 ? Set(arguments.dropFirst()) : ["memory", "commands", "authorize", "caches"]
        try await Bench.with(ksso: ksso) { bench in
            if parts.contains("memory") { try await MemoryUse.measure(bench) }
            if parts.contains("commands") { try await CommandStarts.measure(bench) }
            if parts.contains("authorize") { try await AuthorizeLoad.measure(bench) }
            if parts.contains("caches") { try await CacheComparison.measure(bench) }
        }
    }
}
