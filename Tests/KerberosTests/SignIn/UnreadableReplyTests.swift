import Kerberos
import KerberosTesting
import KerberosTestingTraits
import TestSupport
import Testing

/// A KDC whose reply to a sign-in with a certificate cannot be decrypted, as one of 256 of Heimdal's.
@Suite(.enabled(if: certificatePlugins != nil, "krb5-pkinit is missing: Scripts/install-packages unpacks it"))
struct UnreadableReplyTests {
    /// Signs alice in with a certificate whose PIN is prompted for.
    private func signIn(
        corrupting extent: KDCNetwork.Extent,
        answer: String = "1234",
        _ check: (Result<Credential, KerberosError>, _ prompts: Int, KDCNetwork) throws -> Void
    ) async throws {
        let options = TestRealmOptions(
            users: ["alice": "secret"],
            faultProxy: true,
            acceptsCertificates: true,
            pluginDirectory: certificatePlugins
        )
        try await withTestRealm(options) { realm in
            let own = try await realm.certificate(for: "alice", pin: "1234")
            let prompter = RecordingPrompter(answer: answer)
            try await realm.network.set(.unreadableReply, for: extent)
            let alice = try realm.principal("alice")
            let outcome: Result<Credential, KerberosError>
            do throws(KerberosError) {
                outcome = .success(try await realm.client.initialCredential(for: alice, using: .certificate(own.identity, prompter)))
            } catch {
                outcome = .failure(error)
            }
            try check(outcome, prompter.requests.count, realm.network)
        }
    }

    /// The first request of the two gets the KDC's offer of PKINIT, which is not affected.
    @Test func `one reply that cannot be decrypted costs another exchange, but no second prompt for the PIN`() async throws {
        try await signIn(corrupting: .next(2)) { outcome, prompts, network in
            let credential = try outcome.get()
            #expect(credential.client.displayName == "alice@EXAMPLE.TEST")
            #expect(prompts == 1)
            #expect(network.exchanges.count { $0.reply == .initialReply } == 2)
        }
    }

    @Test func `a KDC that never sends a reply that can be decrypted is reported after the second one`() async throws {
        try await signIn(corrupting: .untilChanged) { outcome, prompts, network in
            let error = #expect(throws: KerberosError.self) { try outcome.get() }
            #expect(error?.code == .certificateRefused)
            #expect(
                error?.message.hasPrefix("the KDC's reply cannot be decrypted with the key of the sign-in, also in a second attempt.")
                    == true
            )
            #expect(prompts == 1)
            #expect(network.exchanges.count { $0.reply == .initialReply } == 2)
        }
    }

    @Test func `a wrong PIN is not tried again`() async throws {
        try await signIn(corrupting: .next(0), answer: "4321") { outcome, prompts, network in
            let error = #expect(throws: KerberosError.self) { try outcome.get() }
            #expect(error?.code == .certificateRefused)
            #expect(prompts == 1)
            // The request for the offer of PKINIT.
            #expect(network.exchanges.count == 1)
        }
    }
}
