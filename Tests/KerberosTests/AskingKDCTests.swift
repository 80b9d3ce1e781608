import Kerberos
import Synchronization
import Testing

/// A KDC's own prompt is never shown: it would look like the prompt for a certificate's PIN, and the answer would go to the KDC.
@Suite struct AskingKDCTests {
    private final class Recorder: Prompter {
        let questions = Mutex<[PromptRequest]>([])
        func answers(to request: PromptRequest) throws -> [Secret] {
            questions.withLock { $0.append(request) }
            return request.prompts.map { _ in Secret("1234") }
        }
    }

    private final class Trace: Sendable { let text = Mutex("") }

    @Test(.timeLimit(.minutes(5))) func `libkrb5 shows no prompt for a SAM-2 challenge`() async throws {
        let kdc = try AskingKDC()
        let trace = Trace()
        let libdefaults = ["dns_lookup_kdc": "false"]
        let kdcs = ["127.0.0.1:\(kdc.port)"]
        let configuration = RealmConfiguration(realm: "R.TEST", preferredKDCs: kdcs, libdefaults: libdefaults, base: .none)
        let client = KerberosClient(configuration) { line in trace.text.withLock { $0 += line } }
        let recorder = Recorder()
        await #expect(throws: KerberosError.self) {
            try await client.initialCredential(for: Principal("alice@R.TEST"), using: .prompter(recorder))
        }
        let text = trace.text.withLock { $0 }
        try #require(text.contains("PA-SAM-CHALLENGE2 (30)"), "the KDC did not send the challenge: \(text)")
        #expect(!text.contains("sam2"), "\(text)")
        #expect(recorder.questions.withLock { $0.map(\.banner) }.isEmpty)
        withExtendedLifetime(kdc) {}
    }
}
