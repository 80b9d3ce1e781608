import Testing

@testable import KerberosSSO

/// The parsing and encoding of Assuan protocol lines.
struct AssuanLineTests {
    @Test(arguments: [
        ("OK", AssuanLine.done), ("OK Pleased to meet you", .done), ("OKAY", .other), ("", .other), ("# remark", .other),
        ("S STATUS x", .other),
        ("D secret", .data(Array("secret".utf8))), ("D  two  spaces ", .data(Array(" two  spaces ".utf8))), ("D", .data([])),
        ("D 100%25 %0a%0D", .data(Array("100% \n\r".utf8))), ("D %2 %zz %", .data(Array("%2 %zz %".utf8))),
        ("D zoë", .data(Array("zoë".utf8))),
        ("ERR 83886179 Operation cancelled <Pinentry>", .failed(code: 99)), ("ERR 83886142 Timeout <Pinentry>", .failed(code: 62)),
        ("ERR", .failed(code: 0)), ("ERR -1", .failed(code: 0)), ("ERR 99999999999999999999", .failed(code: 0)),
        ("INQUIRE QUALITY secret", .inquiry),
    ])
    func `an Assuan line is parsed`(line: String, expected: AssuanLine) {
        #expect(AssuanLine(Array(line.utf8)) == expected)
    }

    @Test(arguments: [
        ("BYE", "", "BYE\n"), ("SETDESC", "a b", "SETDESC a b\n"), ("SETDESC", "100%\nGETPIN", "SETDESC 100%25%0AGETPIN\n"),
        ("SETDESC", "\r\u{7F}\u{1}", "SETDESC %0D%7F%01\n"), ("SETDESC", "zoë", "SETDESC zoë\n"),
    ])
    func `an Assuan request is encoded as one line`(command: String, text: String, expected: String) {
        #expect(String(decoding: AssuanLine.request(command, text, limit: 1000), as: UTF8.self) == expected)
    }

    @Test func `a long text is truncated between characters`() {
        let line = AssuanLine.request("SETDESC", String(repeating: "ë%", count: 900), limit: 1000)
        #expect(line.count <= 1000 && line.last == UInt8(ascii: "\n"))
        #expect(String(validating: line, as: UTF8.self)?.hasSuffix("\u{FFFD}\n") == false)
    }
}
