import Kerberos
import KerberosTesting
import Synchronization
import Testing

/// With a certificate nothing else is tried: libkrb5 would go on to what asks for a one-time password in the words of a PIN, and send the
/// PIN to the KDC.
@Suite(.enabled(if: LoadableLibrary.pkinit != nil, "krb5-pkinit is missing: Scripts/install-packages unpacks it"))
struct CertificateAloneTests {
    /// Gives one answer to every question.
    private final class Answers: Prompter {
        let kinds = Mutex<[PromptRequest.Kind]>([])
        func answers(to request: PromptRequest) throws -> [Secret] {
            kinds.withLock { $0 += request.prompts.map(\.kind) }
            return request.prompts.map { _ in Secret("secret") }
        }
    }

    private final class Trace: Sendable { let text = Mutex("") }

    /// A file that is not there, and one whose PIN is another; at a KDC that would take the password.
    @Test(arguments: [nil, "1234"], [false, true])
    func `nothing else is tried`(pin: String?, isProtected: Bool) async throws {
        let plugin = try #require(LoadableLibrary.pkinit)
        let options = TestRealmOptions(
            users: ["alice": "secret"],
            acceptsCertificates: true,
            pluginDirectory: "\(plugin.folder)/krb5/plugins"
        )
        try await withTestRealm(options) { realm in
            let alice = try Principal("alice@EXAMPLE.TEST")
            var identity = "FILE:/nonexistent.pem,/nonexistent.key"
            if let pin { identity = try await realm.certificate(for: "alice", pin: pin).identity }
            var configuration = realm.configuration
            if isProtected { configuration.armorCache = try await realm.armorCache() }
            let trace = Trace()
            let answers = Answers()
            let client = KerberosClient(configuration) { line in trace.text.withLock { $0 += line } }
            let error = await #expect(throws: KerberosError.self) {
                try await client.initialCredential(for: alice, using: .certificate(identity, answers))
            }
            #expect(error?.code == .certificateRefused, "\(String(describing: error))")
            let text = trace.text.withLock { $0 }
            let modules = Set(text.matches(of: /Preauth module (\w+)/).map { String($0.1) })
            #expect(modules == ["pkinit"], "\(text)")
            #expect(answers.kinds.withLock { $0 } == (pin == nil ? [] : [.preauthentication]))
            #expect(try await realm.failedAttempts(of: "alice") == 0)
            // The same client's passwords are not affected.
            _ = try await client.initialCredential(for: alice, using: .password(Secret("secret")))
        }
    }
}
