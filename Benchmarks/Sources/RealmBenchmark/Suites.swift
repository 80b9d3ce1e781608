import BenchmarkSupport
import Foundation
import Kerberos
import KerberosTesting

/// Two hundred tests, each of which signs in and gets a service ticket, with one realm for all tests and with one for each.
enum Suites {
    private static let count = 200
    private static let width = 6

    static func run() async throws {
        let shared = try await timed {
            try await withTestRealm(users: ["alice": "secret"], services: ["HTTP/localhost"]) { realm in
                try await tests { try await test(realm) }
            }
        }
        let own = try await timed {
            try await tests {
                try await withTestRealm(users: ["alice": "secret"], services: ["HTTP/localhost"]) { realm in try await test(realm) }
            }
        }
        report("\n\(count) tests, \(width) at once: \(shared) s with one realm, \(own) s with a realm each")
    }

    private static func test(_ realm: TestRealm) async throws {
        let (client, cache) = try await realm.signIn()
        let service = try Principal(service: "HTTP", host: "localhost", realm: realm.name)
        _ = try await client.serviceTicket(for: service, in: cache)
        try await client.destroy(cache)
    }

    private static func tests(_ test: @escaping @Sendable () async throws -> Void) async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 0..<count {
                if number >= width { try await group.next() }
                group.addTask { try await test() }
            }
            try await group.waitForAll()
        }
    }

    nonisolated(nonsending) private static func timed(_ body: nonisolated(nonsending) () async throws -> Void) async rethrows -> String {
        let start = ContinuousClock.now
        try await body()
        return String(format: "%.1f", (ContinuousClock.now - start) / .seconds(1))
    }
}
