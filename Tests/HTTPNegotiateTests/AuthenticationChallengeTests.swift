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
    func parsesFields(_ vector: Vector) {
        #expect(AuthenticationChallenge.parse(vector.fields) == vector.expected)
    }

    @Test func schemesAndParametersIgnoreCase() throws {
        let challenge = try #require(AuthenticationChallenge.parse([#"DIGEST Realm="first", REALM=second"#]).first)
        #expect(challenge.hasScheme("Digest"))
        #expect(!challenge.hasScheme("Dig"))
        #expect(challenge.parameter("rEaLm") == "first")
        #expect(challenge.parameter("qop") == nil)
    }

    /// Counts how often the scanner looks at a byte: a second pass over an element is fine, one for each byte is not.
    @Test(arguments: [
        "Negotiate ", "Negotiate", "Basic realm=", "a=", "a b,", "a b=c,", "\"", "\\", "\"\\", "=", " ,", ",", "\t", "a\"b", "x y z ",
        "a =",
        "é", "Negotiate =,", "a \"", "\"\",", "A b==,", "A realm=\"x\" ",
    ])
    func looksAtEachByteAFewTimes(_ piece: String) {
        let text = String(repeating: piece, count: 65536 / piece.utf8.count)
        for field in [text, "Basic realm=\"" + text, "Negotiate " + text, "Negotiate a=b, " + text] {
            let bytes = CountingBytes(Array(field.utf8))
            _ = ChallengeScanner(bytes).scan()
            #expect(bytes.counter.reads >= bytes.count)
            #expect(bytes.counter.reads <= 24 * bytes.count)
        }
    }
}

/// Bytes that know how often they were read.
private struct CountingBytes: RandomAccessCollection {
    final class Counter { var reads = 0 }

    let bytes: [UInt8]
    let counter = Counter()

    init(_ bytes: [UInt8]) { self.bytes = bytes }

    var startIndex: Int { 0 }
    var endIndex: Int { bytes.count }
    subscript(position: Int) -> UInt8 {
        counter.reads += 1
        return bytes[position]
    }
}
