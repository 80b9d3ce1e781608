import Foundation
import Kerberos
import KerberosTesting
import Synchronization
import TestSupport
import Testing

@testable import KCM

/// How this project's own client, which uses libkrb5, works with the server.
struct ThisClientTests {
    private let service = "HTTP/www.example.test"

    /// A new client, as another process would create it.
    private func makeClient(_ running: RunningServer, _ realm: TestRealm) -> KerberosClient {
        var configuration = realm.configuration(defaultCacheName: "KCM:")
        configuration.libdefaults["kcm_socket"] = running.path
        return KerberosClient(configuration)
    }

    /// Signs in as alice.
    private func signIn(_ cache: CredentialCacheName, _ running: RunningServer, _ realm: TestRealm) async throws -> Credential {
        let client = makeClient(running, realm)
        let alice = try Principal("alice", defaultRealm: realm.name)
        let options = InitialCredentialOptions(renewableLifetime: .seconds(86_400))
        let ticket = try await client.initialCredential(for: alice, using: .password(Secret("secret")), options: options)
        try await client.replace(cache, principal: alice, credentials: [ticket], marks: ["ksso_a": "1"])
        return ticket
    }

    @Test(arguments: ["", "1"])
    func `this project's client replaces a cache with one request`(_ suffix: String) async throws {
        let events = Mutex<[StoreEvent]>([])
        var options = KCMServer.Options.forEveryone()
        options.observer = { event in events.withLock { $0.append(event) } }
        try await withTestRealm(users: ["alice": "secret"]) { realm in
            try await withServer(options) { running in
                let cache = CredentialCacheName(rawValue: suffix.isEmpty ? "KCM:" : "KCM:\(geteuid()):\(suffix)")
                let ticket = try await signIn(cache, running, realm)
                #expect(events.withLock { $0.map(\.kind) } == [.initialized])
                let contents = try await makeClient(running, realm).contents(of: cache)
                #expect(contents.credentials.count == 1 && contents.credentials.allSatisfy { $0.isIdentical(to: ticket) })
                #expect(contents.marks["ksso_a"] == "1")
            }
        }
    }

    /// The cache stores the KDC's clock offset. A client that does not apply it sends this machine's time, which the KDC refuses.
    @Test(arguments: [-3600, 3600])
    func `a new client applies the clock offset that is stored in the cache`(_ offset: Int) async throws {
        let options = TestRealmOptions(users: ["alice": "secret"], services: [service], clockOffset: .seconds(offset))
        try await withTestRealm(options) { realm in
            try await withServer { running in
                let cache = CredentialCacheName(rawValue: "KCM:")
                _ = try await signIn(cache, running, realm)
                let server = try Principal(service, defaultRealm: realm.name)
                let ticket = try await makeClient(running, realm).serviceTicket(for: server, in: cache)
                let alice = try Principal("alice", defaultRealm: realm.name)
                _ = try await makeClient(running, realm).renewedCredential(for: alice, in: cache)

                let credential = try await makeClient(running, realm).initiatorCredential(for: ticket, from: cache)
                let token = try firstToken(from: credential)
                // The acceptor uses this machine's clock, so the clock skew proves that the client applied the offset.
                let error = #expect(throws: KerberosError.self) { try Acceptance(token, keytab: realm.keytabPath) }
                #expect(error?.code == .clockSkew)
            }
        }
    }
}
