import Foundation
import SystemSupport
import Testing

/// Escaping of untrusted text for a terminal.
@Suite struct DisplayTests {
    /// Test arguments are printed, so only the escaped text may be their description.
    struct Row: CustomTestStringConvertible, Sendable {
        let text: String
        let shown: String
        var testDescription: String { shown }
    }

    private static let rows = [
        Row(text: "plain text, Grüße 漢字 🙂", shown: "plain text, Grüße 漢字 🙂"),
        Row(text: "", shown: ""),
        Row(text: "a\u{1B}[2Jb", shown: #"a\u{1b}[2Jb"#),
        Row(text: "a\u{7}b\u{8}c\0d", shown: #"a\u{7}b\u{8}c\u{0}d"#),
        Row(text: "a\nb\rc\td\r\ne", shown: #"a\u{a}b\u{d}c\u{9}d\u{d}\u{a}e"#),
        Row(text: "a\u{7F}b", shown: #"a\u{7f}b"#),
        Row(text: "a\u{80}b\u{9B}2Jc\u{9F}d", shown: #"a\u{80}b\u{9b}2Jc\u{9f}d"#),
        Row(text: "a\u{200E}b\u{200F}c", shown: #"a\u{200e}b\u{200f}c"#),
        Row(text: "a\u{202A}b\u{202E}c", shown: #"a\u{202a}b\u{202e}c"#),
        Row(text: "a\u{2066}b\u{2069}c", shown: #"a\u{2066}b\u{2069}c"#),
        Row(text: "a\u{061C}b", shown: #"a\u{61c}b"#),
        Row(text: "a\u{2028}b\u{2029}c", shown: #"a\u{2028}b\u{2029}c"#),
        Row(text: "\u{A0}\u{200D}\u{202F}\u{2065}\u{206A}", shown: "\u{A0}\u{200D}\u{202F}\u{2065}\u{206A}"),
    ]

    @Test(arguments: rows)
    func `control and bidirectional formatting characters are escaped`(row: Row) {
        // Compares scalars because strings compare by Character, and "\r\n" is a single one.
        #expect(Array(row.text.escapedForDisplay().unicodeScalars) == Array(row.shown.unicodeScalars))
    }

    @Test func `line feeds are kept if requested`() {
        #expect("a\nb\r\nc\u{1B}d".escapedForDisplay(keepingLines: true) == "a\nb\\u{d}\nc\\u{1b}d")
    }

    @Test func `text over the limit is truncated`() {
        #expect("abcdef".escapedForDisplay(limit: 6) == "abcdef")
        #expect("abcdef".escapedForDisplay(limit: 5) == "abcde…")
        #expect("\u{1B}\u{1B}\u{1B}".escapedForDisplay(limit: 2) == #"\u{1b}\u{1b}…"#)
        let long = String(repeating: "x", count: 100_000).escapedForDisplay()
        #expect(long.count == 2001 && long.hasSuffix("x…"))
    }

    @Test func `escaped JSON is printable ASCII and decodes to the exact text`() throws {
        let text = "a\u{9B}2J\u{7F}\u{202E}b\u{1B}\nc\u{061C}\u{2028}"
        let document = String(decoding: try JSONEncoder().encode([text]), as: UTF8.self).escapedAsJSONForDisplay()
        #expect(document.utf8.allSatisfy { (0x20..<0x7F).contains($0) }, "\(document.debugDescription)")
        #expect(try JSONDecoder().decode([String].self, from: Data(document.utf8)) == [text])
    }
}
