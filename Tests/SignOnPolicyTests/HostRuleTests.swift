import SignOnPolicy
import TestSupport
import Testing

/// The syntax of host rules, and the hosts that they match.
struct HostRuleTests {
    struct Vectors: Decodable {
        struct Match: Decodable {
            let rule: String
            let host: String
            let matches: Bool
        }

        struct Refused: Decodable {
            let text: String
            let code: String
        }

        struct Parsed: Decodable {
            let text: String
            let kind: String
            let name: String
        }

        let matches: [Match]
        let refused: [Refused]
        let parsed: [Parsed]
    }

    @Test(arguments: try FixtureFile.load("host-rules", in: .module, as: Vectors.self).matches)
    func `a host rule matches the expected hosts`(_ vector: Vectors.Match) throws {
        #expect(try HostRule(vector.rule).matches(host: vector.host) == vector.matches)
    }

    @Test(arguments: try FixtureFile.load("host-rules", in: .module, as: Vectors.self).refused)
    func `a malformed host rule is refused with its code`(_ vector: Vectors.Refused) {
        #expect {
            try HostRule(vector.text)
        } throws: { error in
            guard let error = error as? HostRuleError else { return false }
            return error.code.rawValue == vector.code && error.text == vector.text && error.reason.hasSuffix(".")
        }
    }

    @Test(arguments: try FixtureFile.load("host-rules", in: .module, as: Vectors.self).parsed)
    func `a host rule is parsed into its kind and name`(_ vector: Vectors.Parsed) throws {
        let rule = try HostRule(vector.text)
        #expect("\(rule.kind)" == vector.kind)
        #expect(rule.name == vector.name)
        #expect(rule.description == vector.name)
    }
}

/// The cases of Chromium's own tests, with the equivalent host rules.
struct ChromiumRuleTests {
    struct Vectors: Decodable {
        struct List: Decodable, CustomTestStringConvertible {
            let id: String
            let rules: [String]
            let covered: [String]
            let left: [String]
            var testDescription: String { id }
        }

        struct Refused: Decodable, CustomTestStringConvertible {
            let id: String
            let text: String
            let code: String
            var testDescription: String { "\(id) \(text.debugDescription)" }
        }

        let lists: [List]
        let refused: [Refused]
    }

    @Test(arguments: try FixtureFile.load("chromium-rules", in: .module, as: Vectors.self).lists)
    func `a list of host rules covers the hosts of Chromium's allowlist`(_ vector: Vectors.List) throws {
        let rules = try vector.rules.map { try HostRule($0) }
        for url in vector.covered {
            let origin = try Origin(url: url)
            #expect(rules.contains { $0.matches(host: origin.host) }, "\(url)")
        }
        for url in vector.left {
            // A URL without a valid origin is never covered.
            guard let origin = try? Origin(url: url) else { continue }
            #expect(!rules.contains { $0.matches(host: origin.host) }, "\(url)")
        }
    }

    @Test(arguments: try FixtureFile.load("chromium-rules", in: .module, as: Vectors.self).refused)
    func `an entry of Chromium that is not a host rule is refused`(_ vector: Vectors.Refused) {
        #expect {
            try HostRule(vector.text)
        } throws: { error in
            (error as? HostRuleError)?.code.rawValue == vector.code
        }
    }
}
