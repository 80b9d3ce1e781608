import Foundation
import SignOnPolicy
import TestSupport
import Testing

/// The origin of a URL, and the messages for hosts that are not accepted.
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

    @Test(arguments: try FixtureFile.load("origins", in: .module, as: Vectors.self).valid)
    func `an origin is read from a URL`(_ vector: Vectors.Valid) throws {
        let origin = try Origin(url: vector.url)
        #expect(origin.scheme.rawValue == vector.scheme)
        #expect(origin.host == vector.host)
        #expect(origin.port == vector.port)
        #expect(origin.isAddress == vector.isAddress)
        #expect(origin.description == vector.description)
        #expect(try Origin(url: origin.description) == origin)
    }

    @Test(arguments: try FixtureFile.load("origins", in: .module, as: Vectors.self).invalid)
    func `a URL without a valid origin is refused`(_ vector: Vectors.Invalid) {
        #expect {
            try Origin(url: vector.url)
        } throws: { error in
            guard let error = error as? AuthorizationError else { return false }
            return error.code == .invalidURL && error.message.hasSuffix(".")
        }
    }

    /// An HTTP client connects to the host that Foundation reads from a URL, so the origin must have the same.
    @Test(arguments: try FixtureFile.load("origins", in: .module, as: Vectors.self).valid.filter { !$0.isAddress })
    func `an origin has the host and port that Foundation reads`(_ vector: Vectors.Valid) throws {
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
    func `an internationalized host is refused with its ASCII form`(url: String, host: String) {
        let error = #expect(throws: AuthorizationError.self) { try Origin(url: url) }
        #expect(error?.message.contains("write it as \(host),") == true, "\(error?.message ?? "")")
        #expect(error?.message.contains("secret") == false)
    }

    @Test(arguments: [("b\u{FC}cher.test", "xn--bcher-kva.test"), (".b\u{FC}cher.test", ".xn--bcher-kva.test")])
    func `an internationalized host rule is refused with its ASCII form`(rule: String, form: String) {
        let error = #expect(throws: HostRuleError.self) { try HostRule(rule) }
        #expect(error?.code == .notASCII)
        #expect(error?.reason.hasSuffix("is not ASCII; write \(form).") == true, "\(error?.reason ?? "")")
    }

    @Test(arguments: [
        (".com", true), (".co.uk", true), (".com.au", true), (".ac.jp", true), (".org", true), (".bank", true),
        (".corp", false), (".test", false), (".internal", false), (".home.arpa", false), (".example.com", false), (".co.example", false),
        (".example.de", false), (".www.co.uk", false), ("com", false), ("co.uk", false),
    ])
    func `a host rule for a public suffix is recognized`(text: String, isPublic: Bool) throws {
        #expect(try HostRule(text).isPublicSuffix == isPublic)
    }

    @Test func `an origin error does not contain the URL's user information`() {
        for url in ["https://alice:secret@exa!mple.com/", "https://alice:secret@example.com:x/", "https://alice:secret@@example.com/"] {
            #expect {
                try Origin(url: url)
            } throws: { error in
                !"\(error)".contains("secret")
            }
        }
    }
}
