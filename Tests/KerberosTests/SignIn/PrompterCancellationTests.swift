import Kerberos
import KerberosTesting
import TestSupport
import Testing

/// A prompt is cancelled together with its sign-in.
@Suite struct PrompterCancellationTests {
    private static let users = ["alice": "secret"]

    /// Returns a client and the results of its pre-authentication with a prompt: one line of libkrb5's trace for each attempt.
    private func traced(_ realm: TestRealm) -> (client: KerberosClient, outcomes: AsyncStream<String>) {
        let (outcomes, continuation) = AsyncStream.makeStream(of: String.self)
        let client = KerberosClient(realm.configuration) { line in
            if line.contains("Preauth module") && line.contains("(real) returned: ") { continuation.yield(line) }
        }
        return (client, outcomes)
    }

    private func signIn(
        _ client: KerberosClient,
        _ prompter: some Prompter,
        realm: TestRealm,
        deadline: Duration? = nil
    ) async throws -> Credential {
        let options = InitialCredentialOptions(deadline: deadline)
        return try await client.initialCredential(for: realm.principal("alice"), using: .prompter(prompter), options: options)
    }

    @Test(.timeLimit(.minutes(5)), arguments: [true, false])
    func `cancelling a sign-in cancels its prompt and discards a late answer`(heedsCancellation: Bool) async throws {
        try await withTestRealm(users: Self.users) { realm in
            let (client, outcomes) = traced(realm)
            let prompter = WaitingPrompter(heedsCancellation: heedsCancellation)
            let waiting = Task { try await signIn(client, prompter, realm: realm) }
            await prompter.asked()
            let elapsed = await ContinuousClock().measure {
                waiting.cancel()
                await expectFailure(.canceled) { _ = try await waiting.value }
            }
            #expect(elapsed < .seconds(20), "a prompter that ignores the cancellation would never return")
            #expect(prompter.cancelCount == 1)
            if !heedsCancellation { prompter.release() }
            // A late answer is discarded: it is not used for pre-authentication, and nothing is sent.
            let outcome = try #require(await outcomes.first { _ in true })
            #expect(!outcome.contains("returned: 0/"), "\(outcome)")
            #expect(try await realm.failedAttempts(of: "alice") == 0)
        }
    }

    @Test(.timeLimit(.minutes(5))) func `no prompt appears after the deadline`() async throws {
        try await withTestRealm(users: Self.users) { realm in
            let (client, outcomes) = traced(realm)
            let prompter = RecordingPrompter { _ in [Secret("secret")] }
            try await realm.pauseKDC()
            await expectFailure(.kdcUnreachable) {
                _ = try await signIn(client, prompter, realm: realm, deadline: .milliseconds(300))
            }
            #expect(prompter.requests.isEmpty)
            try await realm.resumeKDC()
            // Now the KDC's reply arrives, and libkrb5 requests the password.
            let outcome = try #require(await outcomes.first { _ in true })
            #expect(!outcome.contains("returned: 0/"), "\(outcome)")
            #expect(prompter.requests.isEmpty)
        }
    }
}
