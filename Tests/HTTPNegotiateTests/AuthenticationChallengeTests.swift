import TestSupport
import Testing

@testable import HTTPNegotiate

/// The parsing of WWW-Authenticate fields into challenges.
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

    @Test(arguments: try FixtureFile.load("challenges", in: .module, as: [Vector].self))
    func `a field is parsed into its challenges`(_ vector: Vector) {
        #expect(AuthenticationChallenge.parse(vector.fields) == vector.expected)
    }

    @Test func `scheme and parameter names are compared case-insensitively`() throws {
        let challenge = try #require(AuthenticationChallenge.parse([#"DIGEST Realm="first", REALM=second"#]).first)
        #expect(challenge.hasScheme("Digest"))
        #expect(!challenge.hasScheme("Dig"))
        #expect(challenge.parameter("rEaLm") == "first")
        #expect(challenge.parameter("qop") == nil)
    }

    @Test func `a field of 64 KiB and more is parsed`() throws {
        let size = 65536
        let value = String(repeating: "a, Negotiate Zm9v\\\"", count: size / 20)
        let challenges = AuthenticationChallenge.parse(["Basic realm=\"\(value)\", \(String(repeating: "x=y,, ", count: size / 6)) NTLM"])
        try #require(challenges.map(\.scheme) == ["Basic", "NTLM"])
        #expect(challenges[0].parameter("realm") == String(repeating: "a, Negotiate Zm9v\"", count: size / 20))
        #expect(challenges[0].parameters.count == size / 6 + 1)
    }
}
