import Testing

@testable import NegotiateProxy

/// What a PAC file's function returned, and what is passed to it.
struct PACAnswerTests {
    @Test(arguments: [
        ("DIRECT", "DIRECT"), ("PROXY a.example:3128", "PROXY a.example:3128"),
        ("PROXY a.example:3128; PROXY b.example:8080; DIRECT", "PROXY a.example:3128; PROXY b.example:8080; DIRECT"),
        ("  proxy A.Example:1 ;; direct;", "PROXY a.example:1; DIRECT"), ("PROXY a.example", "PROXY a.example:80"),
        ("HTTP a.example:3128", "PROXY a.example:3128"), ("PROXY [2001:db8::1]:3128", "PROXY [2001:db8::1]:3128"),
        ("SOCKS s.example:1080; PROXY a.example:1", "PROXY a.example:1"), ("HTTPS s.example:443; SOCKS5 s.example; DIRECT", "DIRECT"),
        ("PROXY a.example:1; PROXY a.example:1", "PROXY a.example:1"), ("PROXY a.example:0; DIRECT", "DIRECT"),
        ("PROXY\ta.example:1", "PROXY a.example:1"), ("PROXY a b; QUIC q.example:1; DIRECT", "DIRECT"),
        ("DIRECT now; PROXY a.example:1", "PROXY a.example:1"),
    ])
    func `usable routes are read in their order`(answer: String, routes: String) throws {
        let location = try PACLocation("/etc/proxy.pac")
        #expect(try PACAnswer(answer, for: "www.example", from: location).routes.map(\.description).joined(separator: "; ") == routes)
    }

    @Test(arguments: [
        ("", "returned an empty text"), (" ; ", "names no route"), ("undefined", "returned “undefined”"), ("null", "returned “null”"),
        ("SOCKS s.example:1080", "“SOCKS s.example:1080”"), ("HTTPS s.example:443; SOCKS5 s", "“HTTPS s.example:443; SOCKS5 s”"),
        ("PROXY", "cannot use, “PROXY”"), ("PROXY http://a.example:1", "cannot use"), ("a.example:1", "cannot use"),
        ("PROXY a\u{1B}[2J:1", "\\u{1b}"),
    ])
    func `an answer without a usable route is an error that names the file`(answer: String, problem: String) throws {
        let location = try PACLocation("/etc/proxy.pac")
        let error = #expect(throws: RoutingError.self) { try PACAnswer(answer, for: "www.example", from: location) }
        let message = error?.message ?? ""
        #expect(message.hasPrefix("The PAC file /etc/proxy.pac returned") && message.contains("www.example"), "\(message)")
        #expect(message.contains(problem) && message.hasSuffix(".") && !message.contains("\u{1B}"), "\(message)")
    }

    @Test func `the number of routes is limited`() throws {
        let answer = (1...1000).map { "PROXY p\($0).example:1" }.joined(separator: ";")
        #expect(try PACAnswer(answer, for: "www.example", from: PACLocation("/p")).routes.count == PACAnswer.limit)
    }

    @Test(arguments: [
        ("http://www.example/a?b", "http://www.example/a?b"), ("http://www.example:80/", "http://www.example/"),
        ("http://www.example:8080", "http://www.example:8080/"), ("https://www.example:443/", "https://www.example/"),
        ("https://www.example:8443/secret?token=1", "https://www.example:8443/"), ("https://www.example?token=1", "https://www.example/"),
        ("http://user:secret@www.example/", "http://www.example/"), ("http://[2001:db8::1]:80/", "http://[2001:db8::1]/"),
        ("http://www.example/a#b", "http://www.example/a"), ("HTTP://www.example/", "http://www.example/"),
        ("http://www.example/it's", "http://www.example/it%27s"),
        ("http://www.example/\\'); while(1);//", "http://www.example/%5C%27);%20while(1);//"),
        ("http://www.example/\nü", "http://www.example/%0A%C3%BC"),
    ])
    func `the URL for the script is that of browsers and needs no escape`(url: String, passed: String) {
        let result = PACURL.text(for: RouteTarget(url: url, host: "www.example", port: 80))
        #expect(result == passed)
        #expect(PACEngine.needsNoEscape(result))
    }

    static let encodings: [([UInt8], String)] = [
        (Array("var a = 'b';".utf8), "var a = 'b';"), ([0xEF, 0xBB, 0xBF] + Array("var a;".utf8), "var a;"),
        (Array("// ä 🙂".utf8), "// \\u00e4 \\ud83d\\ude42"), ([0x2F, 0x2F, 0xE4], "//\\u00e4"),
        ([0xFF, 0xFE, 0x61, 0, 0xE4, 0], "a\\u00e4"), ([0xFE, 0xFF, 0, 0x61, 0, 0xE4], "a\\u00e4"),
        (Array("var\u{A0}a;\u{2028}".utf8), "var a;\n"),
    ]

    @Test(arguments: encodings)
    func `a script in any encoding is passed to the engine in ASCII`(bytes: [UInt8], text: String) throws {
        #expect(try PACScript(bytes).text == text)
    }

    static let invalidScripts: [([UInt8], String)] = [
        ([], "is empty"), (Array(" \n".utf8), "is empty"), ([0x61, 0], "contains a NUL character"),
        ([UInt8](repeating: 0x20, count: PACScript.limit + 1), "is larger than 1 MiB"),
    ]

    @Test(arguments: invalidScripts)
    func `bytes that are no script are an error`(bytes: [UInt8], clause: String) {
        let problem = #expect(throws: PACScript.Problem.self) { try PACScript(bytes) }
        #expect(problem?.clause == clause)
    }

    @Test(arguments: ["/etc/proxy.pac", "file:///etc/proxy.pac", "file://localhost/etc/proxy.pac", "FILE:///etc/pro%78y.pac"])
    func `a location names a file`(text: String) throws {
        #expect(try PACLocation(text).place == .file("/etc/proxy.pac"))
    }

    @Test(arguments: [
        ("http://wpad.example/proxy.pac?a=b#c", "/proxy.pac?a=b"), ("https://wpad.example", "/"), ("http://wpad.example?a", "/?a"),
    ])
    func `a location names a path of a server`(text: String, target: String) throws {
        guard case .server(_, target) = try PACLocation(text).place else {
            Issue.record("\(text) names another place")
            return
        }
    }

    @Test(arguments: [
        ("proxy.pac", "neither an absolute path nor a URL"), ("", "neither an absolute path nor a URL"),
        ("ftp://a.example/p", "unsupported scheme"),
        ("file://server/p", "names no file of this machine"), ("file://", "names no file of this machine"),
        ("http://user:secret@a.example/", "has a user name"), ("http://a b/", "is not valid"), ("http://", "is not valid"),
        ("data://x", "unsupported scheme"),
    ])
    func `a location that cannot be read is an error`(text: String, problem: String) {
        let error = #expect(throws: RoutingError.self) { try PACLocation(text) }
        let message = error?.message ?? ""
        #expect(message.contains(problem) && !message.contains("secret") && message.hasSuffix("."), "\(message)")
    }

    @Test(arguments: [
        ("JSERROR: PAC script:3:\n    SyntaxError: syntax error\npacparser.c: f: Failed.\n", "line 3: SyntaxError: syntax error"),
        ("JSERROR: NULL:0:\n    uncaught exception: a\n", "uncaught exception: a"),
        ("pacparser.c: f: Javascript function not defined.\n", "Javascript function not defined"), ("", "the engine gives no reason"),
        ("JSERROR: a", "a"),
    ])
    func `the engine's message is one line`(printed: String, message: String) {
        #expect(PACEngine.oneLine(printed) == message)
    }
}
