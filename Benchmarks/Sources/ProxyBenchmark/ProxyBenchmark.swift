import BenchmarkSupport
import CFloor
import Foundation

/// Measures the local proxy (`ksso proxy run`) in one run with px, cntlm and socat: requests, tunnels, and the memory of idle tunnels.
///
/// `ProxyBenchmark KSSO [requests|tunnels|memory]…`: KSSO is the program to measure; by default everything is measured. The benchmark
/// starts itself with the internal command `client`.
@main enum ProxyBenchmark {
    static func main() async {
        do {
            try await run(Array(CommandLine.arguments.dropFirst()))
        } catch {
            FileHandle.standardError.write(Data("\(error)\n".utf8))
            exit(1)
        }
    }

    private static func run(_ arguments: [String]) async throws {
        guard let ksso = arguments.first else { throw Unavailable(reason: "usage: ProxyBenchmark KSSO [requests|tunnels|memory]…") }
        if ksso == "client" { return try await OwnClient.run(arguments.dropFirst()) }
        let parts = arguments.count > 1 ? Set(arguments.dropFirst()) : ["requests", "tunnels", "memory"]
        cfloor_raise_file_limit()
        try await Bench.with(programs: await Programs.install(ksso: ksso)) { bench in
            if parts.contains("requests") {
                try await UpstreamRequests.measure(bench)
                try await OriginRequests.measure(bench)
            }
            if parts.contains("tunnels") {
                try await TunnelThroughput.measure(bench)
                try await NewTunnels.measure(bench)
            }
            if parts.contains("memory") { try await IdleTunnels.measure(bench) }
        }
    }
}
