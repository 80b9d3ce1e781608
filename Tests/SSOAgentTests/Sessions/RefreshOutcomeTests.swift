import Kerberos
import KerberosTesting
import SSOAgentClient
import TestSupport
import Testing

@testable import SSOAgent

/// Whether a ticket is sent again after a KDC could not decrypt it.
struct RefreshOutcomeTests {
    private static let options = TestRealmOptions(users: ["alice": "secret"])

    /// Signs in to a realm, and renews the ticket at the realm that `change` passes to its closure.
    private func outcome(_ change: (TestRealm, (TestRealm) async throws -> Void) async throws -> Void) async throws -> RefreshOutcome? {
        var outcome: RefreshOutcome?
        try await withTestRealm(Self.options) { realm in
            let alice = try Principal("alice@EXAMPLE.TEST")
            let cache = CredentialCacheName(rawValue: "FILE:\(realm.directory)/outcome")
            let options = InitialCredentialOptions(renewableLifetime: .seconds(36000))
            let ticket = try await realm.makeClient().initialCredential(for: alice, using: .password(Secret("secret")), options: options)
            try await realm.makeClient().replace(cache, principal: alice, credentials: [ticket])
            try await change(realm) { other in
                do throws(KerberosError) {
                    _ = try await other.makeClient().renewedCredential(for: alice, in: cache)
                } catch {
                    #expect(error.code == .ticketRefused && AgentProblem(error).status == 409, "\(error)")
                    outcome = RefreshOutcome(error)
                }
            }
        }
        return outcome
    }

    @Test func `a ticket that the KDC cannot decrypt is not sent again`() async throws {
        #expect(try await outcome { _, renew in try await withTestRealm(Self.options) { try await renew($0) } } == .refused)
    }

    /// The KDC may only have lost its database for a while.
    @Test func `a ticket whose key the KDC does not find is sent again`() async throws {
        let outcome = try await outcome { realm, renew in
            try await realm.rotateKeys(of: "krbtgt/EXAMPLE.TEST", keepingOld: false, updatesKeytab: false)
            try await renew(realm)
        }
        #expect(outcome == .failed)
    }
}
