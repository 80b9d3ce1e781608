import HTTPTypes
import TestSupport
import Testing

@testable import HTTPNegotiate

/// The search for a Negotiate challenge, and the encoding of credentials.
struct NegotiateChallengeTests {
    struct Vector: Decodable, CustomTestStringConvertible {
        let name: String
        let fields: [String]
        let result: String
        let tokenHex: String?
        var testDescription: String { name }
    }

    @Test(arguments: try FixtureFile.load("negotiate", in: .module, as: [Vector].self))
    func `a Negotiate challenge is found in the fields`(_ vector: Vector) throws {
        let result = NegotiateChallenge.find(in: vector.fields)
        switch result {
        case .absent: #expect(vector.result == "absent")
        case .malformed(let clause):
            #expect(vector.result == "malformed")
            #expect(!clause.isEmpty)
        case .found(let challenge):
            #expect(vector.result == (challenge.token == nil ? "bare" : "token"))
            #expect(try challenge.token == vector.tokenHex.map(bytes(hexadecimal:)))
        }
    }

    @Test(arguments: [1, 2, 3, 65534, 65535, 65536])
    func `a token of up to 64 KiB is accepted`(_ count: Int) {
        let token = (0..<count).map { UInt8(truncatingIfNeeded: $0 * 7) }
        let field = NegotiateCredentials(token: token).fieldValue
        #expect(NegotiateChallenge.find(in: [field]) == .found(NegotiateChallenge(token: token)))
    }

    @Test(arguments: [65537, 65538, 65539, 200_000])
    func `a token larger than 64 KiB is malformed`(_ count: Int) {
        let field = NegotiateCredentials(token: [UInt8](repeating: 0x60, count: count)).fieldValue
        #expect(NegotiateChallenge.find(in: [field]) == .malformed("its Negotiate token is over 65536 bytes"))
    }

    @Test(arguments: [(1, "Negotiate, 1 byte"), (2, "Negotiate, 2 bytes")])
    func `a description has the size of the token`(count: Int, description: String) {
        #expect(NegotiateCredentials(token: [UInt8](repeating: 0x60, count: count)).description == description)
    }

    @Test func `credentials are never added to header compression tables`() {
        let headers = NegotiateCredentials(token: Array("foobar".utf8)).headers
        #expect(headers[.authorization] == "Negotiate Zm9vYmFy")
        #expect(headers.count == 1)
        #expect(headers.allSatisfy { $0.indexingStrategy == .disallow })
    }
}

/// The strict base64 coding of tokens.
struct Base64Tests {
    struct Vectors: Decodable {
        struct Valid: Decodable, CustomTestStringConvertible {
            let name: String
            let text: String
            let hex: String
            var testDescription: String { name }
        }

        struct Invalid: Decodable, CustomTestStringConvertible {
            let name: String
            let text: String
            var testDescription: String { name }
        }

        let valid: [Valid]
        let invalid: [Invalid]
    }

    @Test(arguments: try FixtureFile.load("base64", in: .module, as: Vectors.self).valid)
    func `valid base64 is decoded and encoded`(_ vector: Vectors.Valid) throws {
        #expect(try Base64.decode(vector.text.utf8) == bytes(hexadecimal: vector.hex))
        #expect(try Base64.encode(bytes(hexadecimal: vector.hex)) == vector.text)
    }

    @Test(arguments: try FixtureFile.load("base64", in: .module, as: Vectors.self).invalid)
    func `invalid base64 is refused`(_ vector: Vectors.Invalid) {
        #expect(Base64.decode(vector.text.utf8) == nil)
    }

    @Test func `every byte value survives a base64 round trip`() {
        for count in 0...3 {
            for value in UInt8.min...UInt8.max {
                let bytes = [value] + [UInt8](repeating: ~value, count: count)
                #expect(Base64.decode(Base64.encode(bytes).utf8) == bytes)
            }
        }
    }
}
