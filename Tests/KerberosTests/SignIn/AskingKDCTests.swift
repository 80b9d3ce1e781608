import Kerberos
import TestSupport
import Testing

/// A KDC's own prompt is never shown: it would look like the prompt for a certificate's PIN, and the answer would go to the KDC.
@Suite struct AskingKDCTests {
    @Test(.timeLimit(.minutes(5))) func `libkrb5 shows no prompt for a SAM-2 challenge`() async throws {
        let kdc = try AskingKDC()
        let trace = Recorded<String>()
        let libdefaults = ["dns_lookup_kdc": "false"]
        let kdcs = ["127.0.0.1:\(kdc.port)"]
        let configuration = RealmConfiguration(realm: "R.TEST", preferredKDCs: kdcs, libdefaults: libdefaults, base: .none)
        let client = KerberosClient(configuration) { trace.append($0) }
        let prompter = RecordingPrompter(answer: "1234")
        await #expect(throws: KerberosError.self) {
            try await client.initialCredential(for: Principal("alice@R.TEST"), using: .prompter(prompter))
        }
        let text = trace.all.joined()
        try #require(text.contains("PA-SAM-CHALLENGE2 (30)"), "the KDC did not send the challenge: \(text)")
        #expect(!text.contains("sam2"), "\(text)")
        #expect(prompter.requests.map(\.banner).isEmpty)
        withExtendedLifetime(kdc) {}
    }
}
