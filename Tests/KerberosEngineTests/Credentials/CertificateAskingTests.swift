import Foundation
import Kerberos
import KerberosTesting
import SignOnPolicy
import TestSupport
import Testing

@testable import KerberosEngine

/// When and how often a user is prompted for a certificate's PIN, at a real KDC that accepts certificates and passwords.
@Suite(
    .timeLimit(.minutes(5)),
    .enabled(if: certificatePlugins != nil, "krb5-pkinit is missing: Scripts/install-packages unpacks it")
)
struct CertificateAskingTests {
    /// Runs the body with a home that uses the prompter, and the identity of alice's certificate, which requires a PIN.
    private func withHome(_ prompter: any Prompter, _ body: (CacheHome, String) async throws -> Void) async throws {
        let options = TestRealmOptions(users: ["alice": "secret"], acceptsCertificates: true, pluginDirectory: certificatePlugins)
        try await withTestRealm(options) { realm in
            var home = try CacheHome(realm)
            home.options.prompter = prompter
            try await body(home, try await realm.certificate(for: "alice", pin: "1234").identity)
        }
    }

    /// A copy of the certificate in another file.
    private func copy(_ identity: String, _ home: CacheHome) throws -> String {
        let path = "\(home.directory)/copy.p12"
        try FileManager.default.copyItem(atPath: String(identity.dropFirst("PKCS12:".count)), toPath: path)
        return "PKCS12:\(path)"
    }

    @Test func `after a canceled prompt the user is not prompted again, even for a copy of the file`() async throws {
        let prompter = CountingPrompter(refusal: .canceled)
        try await withHome(prompter) { home, identity in
            let kerberos = home.makeExtension()
            #expect(
                await kerberosError { try await kerberos.signInByAsking("alice", using: .certificate(identity, FixedAnswer(nil))) }?.code
                    == .canceled
            )
            for again in [identity, identity, try copy(identity, home)] {
                let error = await kerberosError { try await kerberos.signInByAsking("alice", using: .certificate(again, FixedAnswer(nil))) }
                #expect(error?.code == .canceled && error?.message.contains("was not answered at") == true)
                #expect(error?.message.contains("ksso login alice@EXAMPLE.TEST --certificate \(again)") == true)
            }
            #expect(await kerberosError { try await kerberos.signInByAsking("alice") }?.code == .canceled)
            #expect(prompter.count == 1)
            // Sign-ins that need no prompt still work: a PIN that is given, and a certificate without a PIN.
            try await kerberos.signIn("alice", using: .certificate(identity, FixedAnswer(Secret("1234"))))
            let open = try await home.realm.certificate(for: "alice").identity
            #expect(
                try await kerberos.signInByAsking("alice", using: .certificate(open, FixedAnswer(nil))).acquiredBy == .certificate(open)
            )
            #expect(prompter.count == 1)
            home.clock.advance(by: 301)
            #expect(
                await kerberosError { try await kerberos.signInByAsking("alice", using: .certificate(identity, FixedAnswer(nil))) }?.code
                    == .canceled
            )
            #expect(prompter.count == 2)
        }
    }

    @Test func `concurrent sign-ins with one certificate share one prompt`() async throws {
        let prompter = CountingPrompter(answer: "1234", waits: true)
        try await withHome(prompter) { home, identity in
            let kerberos = home.makeExtension()
            let question = Question(of: try Principal("alice@EXAMPLE.TEST"), .certificate(identity, prompter), under: kerberos.policy)
            try await withThrowingTaskGroup(of: Session.self) { group in
                for _ in 0..<25 {
                    group.addTask { try await kerberos.signInByAsking("alice", using: .certificate(identity, FixedAnswer(nil))) }
                }
                await prompter.asked()
                let areWaiting = try await comesTrue {
                    kerberos.signIns.prompts.open.flights.waiters(for: question) == 25 || prompter.count > 1
                }
                #expect(areWaiting)
                for _ in 0..<25 { prompter.release() }
                for try await session in group { #expect(session.isSignedIn && session.acquiredBy == .certificate(identity)) }
            }
            #expect(prompter.count == 1)
            #expect(try home.realm.issued(.initialTicket, client: "alice") == 1)
        }
    }

    @Test func `while a prompt is open its principal gets no second one`() async throws {
        let prompter = CountingPrompter(answer: "1234", waits: true)
        try await withHome(prompter) { home, identity in
            let kerberos = home.makeExtension()
            async let asking = kerberos.signInByAsking("alice", using: .certificate(identity, FixedAnswer(nil)))
            await prompter.asked()
            let copy = try copy(identity, home)
            let error = await kerberosError { try await kerberos.signInByAsking("alice", using: .certificate(copy, FixedAnswer(nil))) }
            #expect(error?.code == .notInteractive && error?.message.contains("another prompt is open") == true, "\(error as Any)")
            #expect(await kerberosError { try await kerberos.signInByAsking("alice") }?.code == .notInteractive)
            // A certificate without a PIN does not wait for the open prompt.
            let open = try await home.realm.certificate(for: "alice").identity
            #expect(
                try await kerberos.signInByAsking("alice", using: .certificate(open, FixedAnswer(nil))).acquiredBy == .certificate(open)
            )
            prompter.release()
            #expect(try await asking.acquiredBy == .certificate(identity))
            #expect(prompter.count == 1)
        }
    }

    /// This applies even when the limit of open prompts is reached.
    @Test func `a certificate without a PIN does not count as a prompt`() async throws {
        let prompter = CountingPrompter(answer: "1234")
        try await withHome(prompter) { home, identity in
            let kerberos = home.makeExtension()
            let limiter = kerberos.signIns.prompts.open.limiter
            for number in 0..<PromptLimiter.limit {
                try limiter.open(
                    Question(of: Principal("user\(number)@EXAMPLE.TEST"), .secret, under: kerberos.policy),
                    now: home.clock.now
                )
            }
            let open = try await home.realm.certificate(for: "alice").identity
            try await kerberos.signInByAsking("alice", using: .certificate(open, FixedAnswer(nil)))
            let error = await kerberosError { try await kerberos.signInByAsking("alice", using: .certificate(identity, FixedAnswer(nil))) }
            #expect(error?.code == .notInteractive && error?.message.contains("prompts for passwords or PINs are open") == true)
            #expect(prompter.count == 0)
        }
    }

    @Test func `canceling all open prompts does not count as a refusal by the user`() async throws {
        let prompter = CountingPrompter(answer: "1234", waits: true)
        try await withHome(prompter) { home, identity in
            let kerberos = home.makeExtension()
            let asking = Task { try await kerberos.signInByAsking("alice", using: .certificate(identity, FixedAnswer(nil))) }
            await prompter.asked()
            kerberos.cancelPrompts()
            #expect(await kerberosError { try await asking.value }?.code == .canceled)
            // Once for the canceled prompt, once for the next.
            prompter.release()
            prompter.release()
            let next = try await kerberos.signInByAsking("alice", using: .certificate(identity, FixedAnswer(nil)))
            #expect(next.isSignedIn && prompter.count == 2)
        }
    }
}
