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
    /// libkrb5 sends a cache in one request of any length. When the server refuses it, libkrb5 stores the tickets one by one.
    @Test(arguments: [(1 << 20, 12, ServerLimits()), (200 << 10, 12, ServerLimits(waitingBytes: 1 << 20))])
    func `a cache too long for one request is stored ticket by ticket`(size: Int, count: Int, limits: ServerLimits) async throws {
        let realm = try #require(TestRealm.current)
        var options = KCMServer.Options.forEveryone()
        options.limits = limits
        try await withServer(options) { running in
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
