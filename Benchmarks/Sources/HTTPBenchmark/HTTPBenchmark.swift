import BenchmarkSupport
import Foundation

/// Compares the requests per second of this package's client and its peers, in one run against one Apache; measures the floors, and how
/// tokens scale.
///
/// Without arguments it measures everything. The benchmark starts itself with the other arguments.
@main enum HTTPBenchmark {
    static func main() async {
        do {
            try await run(Array(CommandLine.arguments.dropFirst()))
        } catch {
            FileHandle.standardError.write(Data("\(error)\n".utf8))
            exit(1)
        }
    }

    private static func run(_ arguments: [String]) async throws {
        switch arguments.first {
        case "libcurl": try LibcurlChild.run(arguments.dropFirst())
        case "own": try await OwnChild.run(arguments.dropFirst())
        case "tokens": try await TokenChild.run(arguments.dropFirst())
        case "tokens-in-C": try TokenChild.runInC(arguments.dropFirst())
        case "profile": try await profile(row: arguments.dropFirst().joined(separator: " "))
        default: try await measureAll()
        }
    }

    private static func measureAll() async throws {
        let peers = await PythonPeers.install()
        try await Site.with(usesTLS: false) { site in
            var comparison = Comparison(rows: Rows.all(site, peers: peers))
            try await comparison.run(title: "http", site: site)
            try Floors.measure(site, comparedWith: comparison)
            try await TokenScaling.measure(site)
        }
        try await Site.with(usesTLS: true) { site in
            var comparison = Comparison(rows: Rows.all(site, peers: peers))
            try await comparison.run(title: "https", site: site)
        }
    }

    /// Measures a single row for ten seconds, for a profiler: `perf record -e cpu-clock -g HTTPBenchmark profile ours, preemptive`.
    private static func profile(row name: String) async throws {
        try await Site.with(usesTLS: false) { site in
            guard let row = Rows.all(site, peers: .failure(Unavailable(reason: "not wanted"))).first(where: { $0.name == name }) else {
                throw Unavailable(reason: "there is no row \(name)")
            }
            let clock = ContinuousClock()
            let end = clock.now + .seconds(10)
            while clock.now < end {
                let timing = try await row.run(1000) / 1000
                print("\(name): \(Int(1 / timing.seconds)) a second, \(Int(timing.processorSeconds * 1e6)) µs of processor time each")
            }
        }
    }
}
