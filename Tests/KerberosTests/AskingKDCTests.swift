import Kerberos
import Synchronization
import Testing

/// A KDC has no question of its own put to the user: it would read like that for a certificate's PIN, and the answer goes to the KDC.
@Suite struct AskingKDCTests {
    private final class Recorder: Prompter {
        let questions = Mutex<[PromptRequest]>([])
        func answers(to request: PromptRequest) throws -> [Secret] {
            questions.withLock { $0.append(request) }
            return request.prompts.map { _ in Secret("1234") }
        }
    }

    private final class Trace: Sendable { let text = Mutex("") }

    @Test(.timeLimit(.minutes(5))) func `libkrb 5 asks nothing for SAM 2`() async throws {
        let center = try AskingKDC()
        let trace = Trace()
        let libdefaults = ["dns_lookup_kdc": "false"]
        let kdcs = ["127.0.0.1:\(center.port)"]
        let configuration = RealmConfiguration(realm: "R.TEST", preferredKDCs: kdcs, libdefaults: libdefaults, base: .none)
        let client = KerberosClient(configuration) { line in trace.text.withLock { $0 += line } }
        let recorder = Recorder()
        await #expect(throws: KerberosError.self) {
            try await client.initialCredential(for: Principal("alice@R.TEST"), using: .prompter(recorder))
        }
        let text = trace.text.withLock { $0 }
        try #require(text.contains("PA-SAM-CHALLENGE2 (30)"), "the question came: \(text)")
        #expect(!text.contains("sam2"), "\(text)")
        #expect(recorder.questions.withLock { $0.map(\.banner) }.isEmpty)
        withExtendedLifetime(center) {}
    }
}
