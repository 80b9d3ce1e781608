import BenchmarkSupport
import CFloor
import Foundation
import HTTPNegotiate
import KerberosSSO

/// Measures how many tokens for one service a process makes, with one task and with many, on one core and on all, compared with C.
enum TokenScaling {
    private static let rounds = 5
    private static let tasks = 64

    private struct Row {
        let name: String
        let rate: () async throws -> Double
        var rates: [Double] = []
    }

    static func measure(_ site: Site) async throws {
        let cores = ProcessInfo.processInfo.activeProcessorCount
        var rows = [
            Row(name: "1 task") { try await rate(site, tasks: 1, isPinned: false) },
            Row(name: "\(tasks) tasks on one core") { try await rate(site, tasks: tasks, isPinned: true) },
            Row(name: "\(tasks) tasks on \(cores) cores") { try await rate(site, tasks: tasks, isPinned: false) },
            Row(name: "C loop, 1 thread") { try await rateInC(site, threads: 1) },
            Row(name: "C loop, \(cores) threads with a credential each") { try await rateInC(site, threads: min(cores, 64)) },
        ]
        for _ in 0..<rounds {
            for index in rows.indices { rows[index].rates.append(try await rows[index].rate()) }
        }
        let lines = rows.map { "  " + $0.name.padded(42) + "\(Int($0.rates.median))".rightAligned(10) }
        let factor = zip(rows[2].rates, rows[1].rates).map { $0 / $1 }.median
        let floor = zip(rows[4].rates, rows[3].rates).map { $0 / $1 }.median
        let summary = String(format: "  %d cores over one: %.2f; in C %.2f", cores, factor, floor)
        for row in rows { BenchmarkRow(row.name, in: "tokens for one service in one process", row.rates, .perSecond)?.record() }
        let factors = zip(rows[2].rates, rows[1].rates).map { $0 / $1 }
        BenchmarkRow(
            "\(cores) cores over one",
            in: "tokens for one service in one process",
            factors,
            .ratio,
            ratios: ["in C": factor / floor]
        )?.record()
        report((["tokens for one service in one process".padded(46) + "a second"] + lines + [summary]).joined(separator: "\n") + "\n")
    }

    private static func rate(_ site: Site, tasks: Int, isPinned: Bool) async throws -> Double {
        let command = [try ownPath(), "tokens", site.realm.name, site.server.url, "\(tasks)"]
        return try await rate(site, (isPinned ? ["taskset", "-c", "0"] : []) + command)
    }

    private static func rateInC(_ site: Site, threads: Int) async throws -> Double {
        try await rate(site, [try ownPath(), "tokens-in-C", site.cache, site.service, "\(threads)"])
    }

    private static func rate(_ site: Site, _ command: [String]) async throws -> Double {
        let output = try await site.run(command[0], Array(command.dropFirst()))
        guard let rate = Double(output.trimmingCharacters(in: .whitespacesAndNewlines)), rate > 0 else {
            throw Unavailable(reason: "expected a rate of tokens, got \(output)")
        }
        return rate
    }
}

/// The process that makes the tokens, with the realm's environment like any program.
enum TokenChild {
    private static let count = 12_800

    /// The same in C, in the same environment.
    static func runInC(_ arguments: ArraySlice<String>) throws {
        let words = Array(arguments)
        guard words.count == 3, let threads = UInt32(words[2]) else { throw Unavailable(reason: "tokens-in-C: wrong arguments") }
        print(cfloor_threads(words[0], words[1], threads, UInt32(count) / threads))
    }

    static func run(_ arguments: ArraySlice<String>) async throws {
        let words = Array(arguments)
        guard words.count == 3, let tasks = Int(words[2]), let url = URL(string: words[1]) else {
            throw Unavailable(reason: "tokens: wrong arguments")
        }
        let sso = try await OwnChild.singleSignOn(realm: words[0], isPreemptive: false)
        let request = AuthorizationRequest(url: url)
        try await make(100, sso, request)
        let clock = ContinuousClock()
        let start = clock.now
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<tasks { group.addTask { try await make(count / tasks, sso, request) } }
            try await group.waitForAll()
        }
        print(Double(count / tasks * tasks) / ((clock.now - start) / .seconds(1)))
    }

    private static func make(_ count: Int, _ sso: SingleSignOn, _ request: AuthorizationRequest) async throws {
        for _ in 0..<count {
            guard case .headers = try await sso.beginAuthorization(with: request) else { throw Unavailable(reason: "no token") }
        }
    }
}
