import Dispatch
import Kerberos
import KerberosTesting
import KerberosTestingTraits
import TestSupport
import Testing

/// Longer than anything a person types.
private let longPassword = String(repeating: "p", count: 1000)

@Suite(.testRealm(users: ["alice": "secret", "long": longPassword])) struct PrompterTests {
    private struct Surprise: Error {}

    @Test func `the prompter is asked for the password once`() async throws {
        let realm = try TestRealm.required()
        let prompter = RecordingPrompter { _ in [Secret("secret")] }
        let ticket = try await signIn("alice", prompter, realm: realm)
        #expect(try ticket.client == realm.principal("alice"))
        let request = try #require(prompter.requests.first)
        #expect(prompter.requests.count == 1)
        #expect(try request.principal == realm.principal("alice"))
        let prompt = try #require(request.prompts.first)
        #expect(request.prompts.count == 1)
        #expect(prompt.kind == .password)
        #expect(prompt.isHidden)
        #expect(prompt.text.contains("alice@EXAMPLE.TEST"))
    }

    @Test func `a principal that the KDC does not know causes no prompt`() async throws {
        let prompter = RecordingPrompter { _ in [Secret("secret")] }
        await expectFailure(.unknownPrincipal) { _ = try await signIn("nobody", prompter, realm: .required()) }
        #expect(prompter.requests.isEmpty)
    }

    @Test(arguments: [
        (PromptRefusal.notInteractive as any Error, KerberosError.Code.notInteractive),
        (PromptRefusal.canceled, .canceled), (Surprise(), .canceled), (CancellationError(), .canceled),
    ])
    func `an error from the prompter ends the sign-in without a failed attempt`(refusal: any Error, code: KerberosError.Code) async throws {
        let realm = try TestRealm.required()
        let before = try await realm.failedAttempts(of: "alice")
        let prompter = RecordingPrompter { _ in throw refusal }
        await expectFailure(code) { _ = try await signIn("alice", prompter, realm: realm) }
        #expect(prompter.requests.count == 1)
        #expect(try await realm.failedAttempts(of: "alice") == before)
    }

    @Test(arguments: [
        [], [Secret("secret"), Secret("secret")],
    ])
    func `answers of the wrong number are rejected and not sent`(answers: [Secret]) async throws {
        let realm = try TestRealm.required()
        let prompter = RecordingPrompter { _ in answers }
        await expectFailure(.notInteractive) { _ = try await signIn("alice", prompter, realm: realm) }
        #expect(try await realm.failedAttempts(of: "alice") == 0)
    }

    @Test(arguments: [1024, 100_000]) func `an answer that is too long for libkrb5 is not sent`(length: Int) async throws {
        let realm = try TestRealm.required()
        let before = try await realm.failedAttempts(of: "alice")
        let prompter = RecordingPrompter { _ in [Secret(String(repeating: "x", count: length))] }
        let error = await expectFailure(.wrongPassword) { _ = try await signIn("alice", prompter, realm: realm) }
        #expect(error?.message.contains("limit of 1023 bytes; it was not sent") == true)
        #expect(try await realm.failedAttempts(of: "alice") == before)
    }

    @Test func `a long password is not truncated`() async throws {
        let prompter = RecordingPrompter { _ in [Secret(longPassword)] }
        _ = try await signIn("long", prompter, realm: .required())
    }

    @Test func `the time at the prompt does not count towards the deadline`() async throws {
        let realm = try TestRealm.required()
        let prompter = RecordingPrompter { _ in
            // The user takes longer to type than the deadline allows for the KDC.
            _ = DispatchSemaphore(value: 0).wait(timeout: .now() + .milliseconds(5500))
            return [Secret("secret")]
        }
        _ = try await signIn("alice", prompter, realm: realm, deadline: .seconds(5))
    }

    @Test func `a rejected password does not lead to a prompt`() async throws {
        // libkrb5 must not fall back to a prompt.
        await expectFailure(.wrongPassword) { _ = try await TestRealm.required().signIn("long", password: "wrong") }
    }

    private func signIn(_ name: String, _ prompter: some Prompter, realm: TestRealm, deadline: Duration? = nil) async throws -> Credential {
        try await realm.client.initialCredential(
            for: realm.principal(name),
            using: .prompter(prompter),
            options: InitialCredentialOptions(deadline: deadline)
        )
    }
}
