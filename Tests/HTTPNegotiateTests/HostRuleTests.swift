import HTTPNegotiate
import Testing

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

    @Test(arguments: try Fixture.load("host-rules", as: Vectors.self).matches)
    func matches(_ vector: Vectors.Match) throws {
        #expect(try HostRule(vector.rule).matches(host: vector.host) == vector.matches)
    }

    @Test(arguments: try Fixture.load("host-rules", as: Vectors.self).refused)
    func refuses(_ vector: Vectors.Refused) {
        #expect {
            try HostRule(vector.text)
        } throws: { error in
            guard let error = error as? HostRuleError else { return false }
            return error.code.rawValue == vector.code && error.text == vector.text && error.reason.hasSuffix(".")
        }
    }

    @Test(arguments: try Fixture.load("host-rules", as: Vectors.self).parsed)
    func parses(_ vector: Vectors.Parsed) throws {
        let rule = try HostRule(vector.text)
        #expect("\(rule.kind)" == vector.kind)
        #expect(rule.name == vector.name)
        #expect(rule.description == vector.name)
    }
}
