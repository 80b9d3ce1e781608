import Testing

@testable import SignOnPolicy

/// How messages quote the text of a profile.
struct QuotedTextTests {
    @Test(
        arguments: [
            ("www.example.com", #""www.example.com""#), ("it's.test", #""it's.test""#), (#"a\b"c"#, #""a\b"c""#),
            ("müller.test", #""müller.test""#),
            ("a\u{1b}[2Jb", #""a\u{1b}[2Jb""#), ("a\nb", #""a\u{a}b""#), ("a\u{202e}b\u{200b}", #""a\u{202e}b\u{200b}""#),
        ]
    )
    func `only characters that no one sees are escaped`(text: String, quoted: String) { #expect(text.quoted == quoted) }

    @Test func `an invalid host is quoted as it is written`() {
        let error = #expect(throws: HostRuleError.self) { try HostRule("it's.test") }
        #expect(error?.reason.contains(#""it's.test""#) == true, "\(String(describing: error))")
    }
}
