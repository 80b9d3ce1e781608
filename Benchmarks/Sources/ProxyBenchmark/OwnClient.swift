import AsyncHTTPClient
import BenchmarkSupport
import Foundation
import HTTPNegotiate
import KerberosSSO
import NIOCore
import NegotiateAsyncHTTPClient

/// This package's client, in a process with the realm's environment, so that it finds krb5.conf as any program does.
enum OwnClient {
    /// Starts the process and returns what it measured.
    static func measure(_ bench: Bench, clients: Int, count: Int) async throws -> Sample {
        let words = ["client", bench.realm.name, "\(bench.web.url)/hello?client", bench.greeting, "\(clients)", "\(count)"]
        let output = try await bench.run(try ownPath(), words)
        let numbers = output.split(whereSeparator: \.isWhitespace).compactMap { Double($0) }
        guard numbers.count == 4 else { throw Unavailable(reason: "the client printed \(output.prefix(200))") }
        return [.rate: numbers[0], .middleLatency: numbers[1], .highLatency: numbers[2], .processor: numbers[3]]
    }

    /// The process: prints the requests a second, two latencies in milliseconds, and the microseconds of processor time for each.
    static func run(_ arguments: ArraySlice<String>) async throws {
        let words = Array(arguments)
        guard words.count == 5, let clients = Int(words[3]), let count = Int(words[4]) else {
            throw Unavailable(reason: "client: wrong arguments")
        }
        let text = """
            ExtensionIdentifier: com.apple.AppSSOKerberos.KerberosExtension
            Type: Credential
            Realm: \(words[0])
            Hosts: [localhost]
            PlainHTTPHosts: [localhost]

            """
        let profile = try Profile(data: Data(text.utf8), source: "benchmark")
        var configuration = NegotiatingHTTPClient.Configuration()
        configuration.connections.connectionPool.concurrentHTTP1ConnectionsPerHostSoftLimit = clients
        let sso = try await SingleSignOn(.inProcess(profile), environment: ProcessInfo.processInfo.environment)
        try await NegotiatingHTTPClient.withClient(extension: sso, configuration: configuration) { client in
            let load = OwnLoad(client: client, url: words[1], expected: words[2])
            // Connections and tickets.
            _ = try await load.run(clients: clients, count: clients * 5)
            let (start, processor) = (ContinuousClock.now, processorSeconds())
            let latencies = try await load.run(clients: clients, count: count)
            let seconds = (ContinuousClock.now - start) / .seconds(1)
            let used = processorSeconds() - processor
            let sample = Sample(count: latencies.count, seconds: seconds, processor: used, latencies: latencies)
            print([Figure.rate, .middleLatency, .highLatency, .processor].map { "\(sample[$0] ?? 0)" }.joined(separator: " "))
        }
    }

    private static func processorSeconds() -> Double {
        var usage = rusage()
        getrusage(RUSAGE_SELF.rawValue, &usage)
        return [usage.ru_utime, usage.ru_stime].reduce(0) { $0 + Double($1.tv_sec) + Double($1.tv_usec) / 1e6 }
    }
}

/// Requests of concurrent tasks.
private struct OwnLoad: Sendable {
    let client: NegotiatingHTTPClient
    let url: String
    let expected: String

    /// Returns the microseconds of each request.
    func run(clients: Int, count: Int) async throws -> [Double] {
        try await withThrowingTaskGroup(of: [Double].self) { group in
            for number in 0..<clients {
                group.addTask { try await send(count / clients + (number < count % clients ? 1 : 0)) }
            }
            return try await group.reduce(into: []) { $0 += $1 }
        }
    }

    private func send(_ count: Int) async throws -> [Double] {
        var latencies: [Double] = []
        for _ in 0..<count {
            let start = ContinuousClock.now
            let response = try await client.execute(HTTPClientRequest(url: url))
            let text = String(buffer: try await response.body.collect(upTo: 4096))
            latencies.append((ContinuousClock.now - start) / .microseconds(1))
            guard response.status == .ok, text.hasSuffix(expected) else {
                throw Unavailable(reason: "the server answered \(response.status.code): \(text.prefix(80))")
            }
        }
        return latencies
    }
}
