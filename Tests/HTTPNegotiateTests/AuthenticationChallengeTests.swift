import Testing

@testable import HTTPNegotiate

struct AuthenticationChallengeTests {
    struct Vector: Decodable, CustomTestStringConvertible {
        struct Challenge: Decodable {
            let scheme: String
            let token68: String?
            let parameters: [[String]]?
        }

        let name: String
        let fields: [String]
        let challenges: [Challenge]
        var testDescription: String { name }

        var expected: [AuthenticationChallenge] {
            challenges.map { challenge in
                AuthenticationChallenge(
                    scheme: challenge.scheme,
                    token68: challenge.token68,
                    parameters: (challenge.parameters ?? []).map { AuthenticationChallenge.Parameter(name: $0[0], value: $0[1]) }
                )
            }
        }
    }

    @Test(arguments: try Fixture.load("challenges", as: [Vector].self))
    func `parses fields`(_ vector: Vector) {
        #expect(AuthenticationChallenge.parse(vector.fields) == vector.expected)
    }

    @Test func `schemes and parameters ignore case`() throws {
        let challenge = try #require(AuthenticationChallenge.parse([#"DIGEST Realm="first", REALM=second"#]).first)
        #expect(challenge.hasScheme("Digest"))
        #expect(!challenge.hasScheme("Dig"))
        #expect(challenge.parameter("rEaLm") == "first")
        #expect(challenge.parameter("qop") == nil)
    }

    @Test func `reads fields of 64 ki b`() throws {
        let size = 65536
        let value = String(repeating: "a, Negotiate Zm9v\\\"", count: size / 20)
        let challenges = AuthenticationChallenge.parse(["Basic realm=\"\(value)\", \(String(repeating: "x=y,, ", count: size / 6)) NTLM"])
        try #require(challenges.map(\.scheme) == ["Basic", "NTLM"])
        #expect(challenges[0].parameter("realm") == String(repeating: "a, Negotiate Zm9v\"", count: size / 20))
        #expect(challenges[0].parameters.count == size / 6 + 1)
    }
}
