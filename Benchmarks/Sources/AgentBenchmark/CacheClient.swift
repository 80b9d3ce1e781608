import BenchmarkSupport
import CFloor
import Foundation

/// The number of tickets in a cache, and the length of each.
struct CacheSize: Hashable, Sendable {
    let tickets: Int
    /// 0 means the length of the realm's own tickets.
    var bytes = 0

    var text: String { tickets == 1 ? "1 ticket" : bytes == 0 ? "\(tickets)" : "\(tickets) of \(Double(bytes) / 1000) KB" }

    static let all = [1, 100, 1000, 10_000].map { CacheSize(tickets: $0) } + [large]
    /// The list of these exceeds the 10 MiB that a client accepts.
    static let large = CacheSize(tickets: 10_000, bytes: 1500)
}

/// The measured operations on a cache.
enum CacheOperation: String, CaseIterable {
    case retrieve, held, fresh, store, replace

    var title: String {
        switch self {
        case .retrieve: "RETRIEVE: krb5_cc_retrieve_cred"
        case .held: "token: gss_init_sec_context, credential held"
        case .fresh: "token: gss_acquire_cred and gss_init_sec_context"
        case .store: "STORE: krb5_cc_store_cred of a new ticket"
        case .replace: "STORE: krb5_cc_store_cred of a ticket that is there"
        }
    }

    var changesCache: Bool { self == .store || self == .replace }
}

/// The libkrb5 program that uses a cache. It is a separate process because it finds its server through `KRB5_CONFIG`. Each round uses the
/// empty server, the FILE cache and the measured server in turn, so that other load on the machine affects all of them equally.
struct CacheClient {
    private static let rounds = 7
    /// The approximate duration of one sample.
    private static let secondsPerSample = 0.08

    private let cache: OpaquePointer
    private let file: OpaquePointer
    private let floor: String
    private let tickets: Int

    /// The command line of this process, which fills the cache, and then measures it (`measure`), or prints the memory of the server with
    /// the process identifier in `SERVER` (`memory`).
    static func command(_ bench: Bench, _ task: String = "measure", size: CacheSize) throws -> [String] {
        [
            try ownPath(), "client", task, bench.source, bench.service, "\(size.tickets)", "\(size.bytes)",
            bench.floor.path,
            "FILE:\(bench.realm.directory)/compared",
        ]
    }

    static func run(_ arguments: ArraySlice<String>) throws {
        let words = Array(arguments)
        guard words.count == 7, let tickets = Int(words[3]), let bytes = UInt32(words[4]) else {
            throw Unavailable(reason: "client: wrong arguments")
        }
        func open(_ name: String) throws -> OpaquePointer {
            guard let cache = cfloor_cache_open(name, words[1], words[2], bytes) else { throw Unavailable(reason: "\(name) did not open") }
            return cache
        }
        let client = CacheClient(cache: try open("KCM:"), file: try open(words[6]), floor: words[5], tickets: tickets)
        guard try client.fill(client.cache) else { return }
        if words[0] == "memory", let server = ProcessInfo.processInfo.environment["SERVER"].flatMap({ Int32($0) }) {
            // A server may process its input a moment later.
            Thread.sleep(forTimeInterval: 2)
            let statistics = try ProcessStatistics(server)
            print("memory", statistics.resident, statistics.anonymous, statistics.threads)
        }
        guard words[0] == "measure", try client.fill(client.file) else { return }
        // A server may process its input a moment later.
        Thread.sleep(forTimeInterval: 2)
        for operation in CacheOperation.allCases { try client.measure(operation) }
    }

    /// Returns false, and prints the number of tickets, if a server is too slow for all of them.
    private func fill(_ cache: OpaquePointer) throws -> Bool {
        let limit = 30.0
        let count = Int(cfloor_cache_fill(cache, UInt32(tickets), limit))
        guard count >= 0 else { throw Unavailable(reason: String(cString: cfloor_cache_error(cache))) }
        if count < tickets { print("filled", count, limit) }
        return count == tickets
    }

    private func measure(_ operation: CacheOperation) throws {
        let counts = (try count(operation, cache), try count(operation, file))
        var own: [Double] = [], files: [Double] = [], floors: [Double] = []
        for _ in 0..<Self.rounds {
            floors.append(operation == .held || operation == .fresh ? cfloor_connections(floor, 200) : try roundTrip(operation))
            files.append(try once(operation, file, count: counts.1))
            own.append(try once(operation, cache, count: counts.0))
            // A small cache is refilled because it would soon be large otherwise.
            if operation.changesCache, tickets <= 100 { _ = (try fill(cache), try fill(file)) }
        }
        let ratios = (zip(own, floors).map { $0 / $1 }.median, zip(own, files).map { $0 / $1 }.median)
        print(operation.rawValue, own.median, floors.median, files.median, ratios.0, ratios.1)
    }

    /// The number of bytes that the operation sends and receives.
    private func roundTrip(_ operation: CacheOperation) throws -> Double {
        operation == .retrieve ? cfloor_round_trips(floor, 160, 600, 800) : cfloor_round_trips(floor, 600, 12, 800)
    }

    /// How many operations fit into a sample. The first run warms up.
    private func count(_ operation: CacheOperation, _ cache: OpaquePointer) throws -> UInt32 {
        _ = try once(operation, cache, count: 1)
        let time = try once(operation, cache, count: 2)
        let most = operation.changesCache ? max(10, tickets / 20) : 2000
        return UInt32(min(most, max(3, Int(Self.secondsPerSample * 1e6 / time))))
    }

    private func once(_ operation: CacheOperation, _ cache: OpaquePointer, count: UInt32) throws -> Double {
        let time =
            switch operation {
            case .retrieve: cfloor_cache_retrieve(cache, count)
            case .held: cfloor_cache_held_token(cache, count)
            case .fresh: cfloor_cache_fresh_token(cache, count)
            case .store: cfloor_cache_store(cache, count)
            case .replace: cfloor_cache_replace(cache, count)
            }
        guard time > 0 else { throw Unavailable(reason: String(cString: cfloor_cache_error(cache))) }
        return time
    }
}
