import Foundation
import Kerberos
import SignOnPolicy
import Testing

@testable import KerberosEngine

/// Which prompts the limiter allows.
struct PromptLimiterTests {
    private let limiter = PromptLimiter()
    private let now = Date()

    private func question(_ name: String, certificate: String? = nil) throws -> Question {
        let source: InitialCredentialSource = certificate.map { .certificate($0, CountingPrompter(answer: "")) } ?? .password(Secret(""))
        return Question(of: try Principal("\(name)@EXAMPLE.TEST"), source, under: DecisionPolicy([]))
    }

    private func refusal(_ question: Question, after seconds: Double = 0) -> KerberosError? {
        do throws(KerberosError) {
            try limiter.open(question, now: now + seconds)
            return nil
        } catch {
            return error
        }
    }

    @Test func `a principal has at most one open prompt`() throws {
        let first = try question("alice", certificate: "PKCS12:/a.p12")
        try limiter.open(first, now: now)
        for other in [try question("alice"), try question("alice", certificate: "PKCS12:/b.p12")] {
            let error = refusal(other)
            #expect(error?.code == .notInteractive && error?.message.contains("ksso login alice@EXAMPLE.TEST") == true)
        }
        try limiter.open(question("bob"), now: now)
        limiter.close(first)
        #expect(try refusal(question("alice")) == nil)
    }

    /// A canceled prompt takes time to close.
    @Test func `the same prompt may open again before its predecessor has closed`() throws {
        let question = try question("alice")
        try limiter.open(question, now: now)
        try limiter.open(question, now: now)
        limiter.close(question)
        #expect(try refusal(self.question("alice", certificate: "PKCS11:"))?.code == .notInteractive)
        limiter.close(question)
        #expect(try refusal(self.question("alice", certificate: "PKCS11:")) == nil)
    }

    @Test func `the number of open prompts is limited`() throws {
        let questions = try (0..<PromptLimiter.limit).map { try question("user\($0)") }
        for question in questions { try limiter.open(question, now: now) }
        let error = try refusal(question("alice", certificate: "PKCS11:"))
        #expect(error?.code == .notInteractive)
        #expect(error?.message.contains("ksso login alice@EXAMPLE.TEST --certificate PKCS11:") == true)
        limiter.close(questions[0])
        #expect(try refusal(question("alice")) == nil)
    }

    @Test func `a prompt that a person has asked for opens after a refusal, and the refusal stays for others`() throws {
        let card = try question("alice", certificate: "PKCS11:")
        limiter.refuse(card.principal, at: now)
        try limiter.open(card, now: now, isWanted: true)
        limiter.close(card)
        #expect(refusal(card, after: 1)?.code == .canceled)
    }

    @Test func `after a refusal a principal gets no prompt of any kind for five minutes`() throws {
        let password = try question("alice")
        limiter.refuse(password.principal, at: now)
        for question in [password, try question("alice", certificate: "PKCS12:/a.p12")] {
            #expect(refusal(question, after: 299)?.code == .canceled)
        }
        #expect(try refusal(question("bob")) == nil)
        #expect(refusal(password, after: 300) == nil)
        limiter.close(password)
        limiter.refuse(password.principal, at: now)
        limiter.forget(password.principal)
        #expect(refusal(password) == nil)
    }
}
