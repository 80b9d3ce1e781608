import Foundation
import HTTPNegotiate
import Testing

struct OriginTests {
    struct Vectors: Decodable {
        struct Valid: Decodable, CustomTestStringConvertible {
            let url: String
            let scheme: String
            let host: String
            let port: Int
            let isAddress: Bool
            let description: String
            var testDescription: String { url }
        }

        struct Invalid: Decodable, CustomTestStringConvertible {
            let url: String
            let why: String
            var testDescription: String { "\(why): \(url.debugDescription)" }
        }

        let valid: [Valid]
        let invalid: [Invalid]
    }

    @Test(arguments: try Fixture.load("origins", as: Vectors.self).valid)
    func `reads`(_ vector: Vectors.Valid) throws {
        let origin = try Origin(url: vector.url)
        #expect(origin.scheme.rawValue == vector.scheme)
        #expect(origin.host == vector.host)
        #expect(origin.port == vector.port)
        #expect(origin.isAddress == vector.isAddress)
        #expect(origin.description == vector.description)
        #expect(try Origin(url: origin.description) == origin)
    }

    @Test(arguments: try Fixture.load("origins", as: Vectors.self).invalid)
    func `refuses`(_ vector: Vectors.Invalid) {
        #expect {
            try Origin(url: vector.url)
        } throws: { error in
            guard let error = error as? AuthorizationError else { return false }
            return error.code == .invalidURL && error.message.hasSuffix(".")
        }
    }

    /// What Foundation makes of a URL is what an HTTP client connects to: where we read a host, it is the same.
    @Test(arguments: try Fixture.load("origins", as: Vectors.self).valid.filter { !$0.isAddress })
    func `agrees with Foundation`(_ vector: Vectors.Valid) throws {
        let url = try #require(URL(string: vector.url))
        let origin = try Origin(url: url)
        let host = try #require(url.host(percentEncoded: true)).lowercased()
        #expect(origin.host == (host.hasSuffix(".") ? String(host.dropLast()) : host))
        #expect(origin.port == url.port ?? origin.scheme.defaultPort)
    }

    @Test(arguments: [
        ("https://b\u{FC}cher.test/", "xn--bcher-kva.test"),
        ("https://alice:secret@bu\u{308}cher.test:8443/\u{FC}?q=\u{FC}", "xn--bcher-kva.test"),
        ("https://\u{435}xample.com/", "xn--xample-2of.com"), ("https://fa\u{DF}.test/", "xn--fa-hia.test"),
    ])
    func `an international host is refused with the name to write`(url: String, host: String) {
        let error = #expect(throws: AuthorizationError.self) { try Origin(url: url) }
        #expect(error?.message.contains("write it as \(host),") == true, "\(error?.message ?? "")")
        #expect(error?.message.contains("secret") == false)
    }

    @Test(arguments: [("b\u{FC}cher.test", "xn--bcher-kva.test"), (".b\u{FC}cher.test", ".xn--bcher-kva.test")])
    func `an international rule is refused with the rule to write`(rule: String, form: String) {
        let error = #expect(throws: HostRuleError.self) { try HostRule(rule) }
        #expect(error?.code == .notASCII)
        #expect(error?.reason.hasSuffix("is not ASCII; write \(form).") == true, "\(error?.reason ?? "")")
    }

    @Test(arguments: [
        (".com", true), (".co.uk", true), (".com.au", true), (".ac.jp", true), (".org", true), (".bank", true),
        (".corp", false), (".test", false), (".internal", false), (".home.arpa", false), (".example.com", false), (".co.example", false),
        (".example.de", false), (".www.co.uk", false), ("com", false), ("co.uk", false),
    ])
    func `a rule for the domains of many owners is known`(text: String, isPublic: Bool) throws {
        #expect(try HostRule(text).isPublicSuffix == isPublic)
    }

    @Test func `messages keep user information to themselves`() {
        for url in ["https://alice:secret@exa!mple.com/", "https://alice:secret@example.com:x/", "https://alice:secret@@example.com/"] {
            #expect {
                try Origin(url: url)
            } throws: { error in
                !"\(error)".contains("secret")
            }
        }
    }
}
