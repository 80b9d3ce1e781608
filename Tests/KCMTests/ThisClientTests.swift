import Foundation
import Kerberos
import KerberosTesting
import Synchronization
import TestSupport
import Testing

@testable import KCM

/// This project's own client, by libkrb5, against the server.
struct ThisClientTests {
    /// A client as another process would have it.
    private func makeClient(_ running: RunningServer, _ realm: TestRealm) -> KerberosClient {
        var configuration = realm.configuration(defaultCacheName: "KCM:")
        configuration.libdefaults["kcm_socket"] = running.path
        return KerberosClient(configuration)
    }

    /// Signs alice in.
    private func signIn(_ cache: CredentialCacheName, _ running: RunningServer, _ realm: TestRealm) async throws -> Credential {
        let client = makeClient(running, realm)
        let alice = try Principal("alice", defaultRealm: realm.name)
        let options = InitialCredentialOptions(renewableLifetime: .seconds(86_400))
        let ticket = try await client.initialCredential(for: alice, using: .password(Secret("secret")), options: options)
        try await client.replace(cache, principal: alice, credentials: [ticket], marks: ["ksso_a": "1"])
        return ticket
    }

    @Test(arguments: ["", "1"])
    func aCacheIsReplacedAtOnce(_ suffix: String) async throws {
        let events = Mutex<[StoreEvent]>([])
        var options = KCMServer.Options()
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
}
