import Foundation
import Kerberos
import Testing

@testable import KerberosEngine

/// Which questions are let through.
struct PromptLimiterTests {
    private let gate = PromptLimiter()
    private let now = Date()

    private func question(_ name: String, certificate: String? = nil) throws -> Question {
        let source: InitialCredentialSource = certificate.map { .certificate($0, CountingPrompter(answer: "")) } ?? .password(Secret(""))
        return Question(of: try Principal("\(name)@EXAMPLE.TEST"), source)
    }

    private func refusal(_ question: Question, after seconds: Double = 0) -> KerberosError? {
        do throws(KerberosError) {
            try gate.open(question, now: now + seconds)
            return nil
        } catch {
            return error
        }
    }

    @Test func `a principal has one open question`() throws {
        let first = try question("alice", certificate: "PKCS12:/a.p12")
        try gate.open(first, now: now)
        for other in [try question("alice"), try question("alice", certificate: "PKCS12:/b.p12")] {
            let error = refusal(other)
            #expect(error?.code == .notInteractive && error?.message.contains("ksso login alice@EXAMPLE.TEST") == true)
        }
        try gate.open(question("bob"), now: now)
        gate.close(first)
        #expect(try refusal(question("alice")) == nil)
    }

    /// One that was called off takes its time to end.
    @Test func `the same question may begin before it has ended`() throws {
        let question = try question("alice")
        try gate.open(question, now: now)
        try gate.open(question, now: now)
        gate.close(question)
        #expect(try refusal(self.question("alice", certificate: "PKCS11:"))?.code == .notInteractive)
        gate.close(question)
        #expect(try refusal(self.question("alice", certificate: "PKCS11:")) == nil)
    }

    @Test func `few are open at once`() throws {
        let questions = try (0..<PromptLimiter.limit).map { try question("user\($0)") }
        for question in questions { try gate.open(question, now: now) }
        let error = try refusal(question("alice", certificate: "PKCS11:"))
        #expect(error?.code == .notInteractive)
        #expect(error?.message.contains("ksso login alice@EXAMPLE.TEST --certificate PKCS11:") == true)
        gate.close(questions[0])
        #expect(try refusal(question("alice")) == nil)
    }

    @Test func `who gave up is left in peace for five minutes, whatever is wanted`() throws {
        let password = try question("alice")
        gate.refuse(password.principal, at: now)
        for question in [password, try question("alice", certificate: "PKCS12:/a.p12")] {
            #expect(refusal(question, after: 299)?.code == .canceled)
        }
        #expect(try refusal(question("bob")) == nil)
        #expect(refusal(password, after: 300) == nil)
        gate.close(password)
        gate.refuse(password.principal, at: now)
        gate.forget(password.principal)
        #expect(refusal(password) == nil)
    }
}
