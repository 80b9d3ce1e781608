import Kerberos
import KerberosTesting
import TestSupport
import Testing

/// A sign-in with a certificate uses no other pre-authentication mechanism. Otherwise libkrb5 would fall back to one that prompts for a
/// one-time password as if for a PIN, and would send the PIN to the KDC.
@Suite(.enabled(if: LoadableLibrary.pkinit != nil, "krb5-pkinit is missing: Scripts/install-packages unpacks it"))
struct CertificateAloneTests {
    /// The certificate's file does not exist, or its PIN is a different one. The KDC would accept the answer as a password.
    @Test(arguments: [nil, "1234"], [false, true])
    func `a failed sign-in with a certificate uses only PKINIT`(pin: String?, isProtected: Bool) async throws {
        try await withTestRealm(.acceptingCertificates()) { realm in
            let alice = try Principal("alice@EXAMPLE.TEST")
            var identity = "FILE:/nonexistent.pem,/nonexistent.key"
            if let pin { identity = try await realm.certificate(for: "alice", pin: pin).identity }
            var configuration = realm.configuration
            if isProtected { configuration.armorCache = try await realm.armorCache() }
            let trace = Recorded<String>()
            let prompter = RecordingPrompter(answer: "secret")
            let client = KerberosClient(configuration) { trace.append($0) }
            let error = await #expect(throws: KerberosError.self) {
                try await client.initialCredential(for: alice, using: .certificate(identity, prompter))
            }
            #expect(error?.code == .certificateRefused, "\(String(describing: error))")
            let text = trace.all.joined()
            let modules = Set(text.matches(of: /Preauth module (\w+)/).map { String($0.1) })
            #expect(modules == ["pkinit"], "\(text)")
            #expect(prompter.requests.flatMap { $0.prompts.map(\.kind) } == (pin == nil ? [] : [.preauthentication]))
            #expect(try await realm.failedAttempts(of: "alice") == 0)
            // The same client can still sign in with a password.
            _ = try await client.initialCredential(for: alice, using: .password(Secret("secret")))
        }
    }
}
