import Testing

@testable import Kerberos

@Suite struct CardPromptTests {
    @Test(arguments: [
        ("card                             PIN", "card PIN"),
        ("Staff card  PIN (Warning: PIN final try)", "Staff card PIN (Warning: PIN final try)"),
        ("Password for alice", "Password for alice"),
    ])
    func `the spaces after a card's label are removed`(prompt: String, text: String) {
        #expect(CardPrompt.text(prompt) == text)
    }

    @Test func `a locked PIN is recognized`() {
        #expect(CardPrompt.isLocked("card PIN (Warning: PIN locked)"))
        #expect(!CardPrompt.isLocked("card PIN (Warning: PIN final try)") && !CardPrompt.isLocked("card PIN"))
    }
}
