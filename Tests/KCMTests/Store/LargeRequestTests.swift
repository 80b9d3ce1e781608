import Foundation
import Kerberos
import KerberosTesting
import KerberosTestingTraits
import TestSupport
import Testing

@testable import KCM

/// How the server and libkrb5 handle requests above the length limit.
@Suite(.testRealm(users: ["alice": "secret"]))
struct LargeRequestTests {
    /// libkrb5 sends a cache in one request of any length. When the server does not support it, libkrb5 stores the tickets one by one.
    @Test func `a cache too long for one request is stored ticket by ticket`() async throws {
        let realm = try #require(TestRealm.current)
        let (size, count) = (1 << 20, 12)
        try await withServer { running in
            var configuration = realm.configuration(defaultCacheName: "KCM:")
            configuration.libdefaults["kcm_socket"] = running.path
            let client = KerberosClient(configuration)
            let alice = try Principal("alice", defaultRealm: realm.name)
            let ticket = try await client.initialCredential(for: alice, using: .password(Secret("secret")))
            let cache = CredentialCacheName(rawValue: "KCM:")
            let marks = Dictionary(uniqueKeysWithValues: (0..<count).map { ("ksso_\($0)", String(repeating: "\($0 % 10)", count: size)) })
            try await client.replace(cache, principal: alice, credentials: [ticket], marks: marks)
            let contents = try await client.contents(of: cache)
            #expect(contents.credentials.count == 1 && contents.credentials.allSatisfy { $0.isIdentical(to: ticket) })
            #expect(contents.marks == marks)
        }
    }

    /// If libkrb5 stored the tickets one by one instead, it would first empty the cache. Besides 12 MiB in one cache, there is a request
    /// for which the user's buffers are too small, and one with more tickets than fit, whatever their length.
    @Test(
        arguments: [
            (1 << 20, 12, ServerLimits(), 11 << 20), (200 << 10, 12, ServerLimits(waitingBytes: 1 << 20), 64 << 20),
            (200 << 10, 12, ServerLimits(waitingBytes: 1 << 20), 1 << 20),
            (1000, 2000, ServerLimits(requestBytes: 1 << 20), 5 << 19),
        ]
    )
    func `a cache for which there is no room leaves the old one unchanged`(
        size: Int,
        count: Int,
        limits: ServerLimits,
        quota: Int
    ) async throws {
        let realm = try #require(TestRealm.current)
        var options = KCMServer.Options.forEveryone(storeLimits: StoreLimits(bytes: quota))
        options.limits = limits
        try await withServer(options) { running in
            var configuration = realm.configuration(defaultCacheName: "KCM:")
            configuration.libdefaults["kcm_socket"] = running.path
            let client = KerberosClient(configuration)
            let alice = try Principal("alice", defaultRealm: realm.name)
            let ticket = try await client.initialCredential(for: alice, using: .password(Secret("secret")))
            let cache = CredentialCacheName(rawValue: "KCM:")
            try await client.replace(cache, principal: alice, credentials: [ticket], marks: ["ksso_old": "1"])
            let marks = Dictionary(uniqueKeysWithValues: (0..<count).map { ("ksso_\($0)", String(repeating: "\($0 % 10)", count: size)) })
            await #expect(throws: KerberosError.self) {
                try await client.replace(cache, principal: alice, credentials: [ticket], marks: marks)
            }
            let contents = try await client.contents(of: cache)
            #expect(contents.credentials.count == 1 && contents.credentials.allSatisfy { $0.isIdentical(to: ticket) })
            #expect(contents.marks == ["ksso_old": "1"])
        }
    }

    @Test func `the refusal of a long REPLACE depends on the room for its tickets`() async throws {
        var options = KCMServer.Options.forEveryone(storeLimits: StoreLimits(bytes: 24 << 20))
        options.limits.waitingBytes = 12 << 20
        try await withServer(options) { running in
            try await withConnection(running.path) { connection async throws in
                #expect(try await connection.code(.initialize, "a", Sample.alice) == .ok)
                let parts = (0..<3).map { number in
                    Sample.ticket(number, end: .max).with { $0.ticket = [UInt8](repeating: 7, count: 4 << 20) }
                }
                #expect(try await connection.code(.replace, "a", replacement(parts)) == .unsupported)
                for part in parts { #expect(try await connection.code(.store, "a", part.bytes) == .ok) }
                // The cache itself makes room for its replacement, and another cache does not.
                #expect(try await connection.code(.replace, "a", replacement(parts + [Sample.ticket(4)])) == .unsupported)
                #expect(try await connection.code(.store, "a", parts[0].with { $0.type = 17 }.bytes) == .ok)
                #expect(try await connection.code(.replace, "a", replacement(parts)) == .unsupported)
                #expect(try await connection.code(.replace, "b", replacement(parts)) == .quotaExceeded)
                let count = (try await connection.request(.credentialIdentifiers, "a")?.body.count ?? 0) / 16
                #expect(count == 4)
            }
        }
    }

    @Test func `a request above the length limit is refused and the connection stays open`() async throws {
        try await withServer { running in
            try await withConnection(running.path) { connection async throws in
                #expect(try await connection.code(.initialize, "a", Sample.alice) == .ok)
                let large = Sample.ticket(1).with { $0.ticket = [UInt8](repeating: 7, count: 11 << 20) }
                #expect(try await connection.code(.store, "a", large.bytes) == .limitReached)
                #expect(try await connection.code(.replace, "a", replacement([large])) == .unsupported)
                #expect(try await connection.request(.credentialList, "a")?.body == [0, 0, 0, 0])
            }
        }
    }
}
