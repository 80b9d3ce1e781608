import Kerberos
import Testing

@testable import KerberosEngine

/// Active Directory requests the password before it reports that it has expired; the user types it once.
@Suite struct PasswordMemoryTests {
    private func request(_ kind: PromptRequest.Kind = .password) throws -> PromptRequest {
        PromptRequest(principal: try Principal("alice@A.TEST"), prompts: [.init(kind: kind, text: "Password")])
    }

    @Test func `a password is reused once after an announcement without a prompt`() throws {
        let prompter = AnsweringPrompter(["secret", "code", "other"])
        let memory = PasswordMemory(prompter)
        #expect(try memory.answers(to: request()) == [Secret("secret")])
        memory.announce("It has expired.")
        #expect(try memory.answers(to: request()) == [Secret("secret")])
        #expect(prompter.requests.count == 1)
        // Other answers are prompted for, with the announcement as the banner.
        #expect(try memory.answers(to: request(.preauthentication)) == [Secret("code")])
        #expect(try memory.answers(to: request()) == [Secret("other")])
        #expect(prompter.requests.map(\.banner) == [nil, "It has expired.", nil])
    }

    @Test func `the new password answers the sign-in that follows a change`() throws {
        let prompter = AnsweringPrompter(["secret"])
        let memory = PasswordMemory(prompter)
        _ = try memory.answers(to: request())
        memory.take(Secret("fresh"))
        #expect(try memory.answers(to: request()) == [Secret("fresh")])
        #expect(memory.lastPassword == Secret("fresh"))
    }
}
