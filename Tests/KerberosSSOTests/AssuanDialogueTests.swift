import Foundation
import Kerberos
import TestSupport
import Testing

@testable import KerberosSSO

/// Pinentry dialogues in which the program reads the request and sends no answer.
struct AssuanDialogueTests {
    @Test(.timeLimit(.minutes(1)), arguments: ["exec cat >/dev/null", "trap '' TERM; while :; do echo S still here; done"])
    func `an unanswered pinentry request times out and its program is terminated`(rest: String) async throws {
        try await withScript("echo OK ready; read -r question; \(rest)", as: "pinentry") { folder in
            let (refusal, process) = try await withCheckedThrowingContinuation { continuation in
                Thread.detachNewThread { continuation.resume(with: Result { try Self.ask("\(folder)/pinentry") }) }
            }
            #expect(refusal == .canceled)
            // The process was reaped: it no longer exists, not even as a zombie.
            #expect(kill(process, 0) != 0)
        }
    }

    private static func ask(_ program: String) throws -> (PromptRefusal?, pid_t) {
        var dialogue = try AssuanDialogue(program, environment: ["PATH": "/usr/bin:/bin"])
        try dialogue.begin()
        let refusal = #expect(throws: PromptRefusal.self) { try dialogue.secret(within: .milliseconds(100)) }
        let process = dialogue.child.process
        dialogue.end()
        return (refusal, process)
    }
}
