import SignOnPolicy
import TestSupport
import Testing

/// The syntax of the KDCs in a profile.
struct PreferredKDCTests {
    struct Vectors: Decodable {
        struct Valid: Decodable {
            let text: String
            let transport: String
            let host: String
            let port: Int?
            let path: String?
            let mit: String
            let description: String
        }

        struct Invalid: Decodable {
            let text: String
            let code: String
        }

        let valid: [Valid]
        let invalid: [Invalid]
    }

    @Test(arguments: try FixtureFile.load("preferred-kdcs", in: .module, as: Vectors.self).valid)
    func `a preferred KDC is parsed and has an MIT syntax`(_ vector: Vectors.Valid) throws {
        let kdc = try PreferredKDC(vector.text)
        #expect("\(kdc.transport)" == vector.transport)
        #expect(kdc.host == vector.host)
        #expect(kdc.port == vector.port)
        #expect(kdc.path == vector.path)
        #expect(kdc.mitSyntax == vector.mit)
        #expect(kdc.description == vector.description)
        #expect(try PreferredKDC(kdc.description) == kdc)
    }

    @Test(arguments: try FixtureFile.load("preferred-kdcs", in: .module, as: Vectors.self).invalid)
    func `a malformed preferred KDC is refused`(_ vector: Vectors.Invalid) {
        #expect {
            try PreferredKDC(vector.text)
        } throws: { error in
            (error as? HostRuleError)?.code.rawValue == vector.code
        }
    }
}
