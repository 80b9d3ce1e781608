import Testing

@testable import TLSChannelBinding

/// RSASSA-PSS parameters that openssl does not generate.
struct PSSParametersTests {
    private static let sha1 = der(Tag.sequence, Identifier.sha1, der(Tag.null))
    private static let sha256 = der(Tag.sequence, Identifier.sha256, der(Tag.null))
    private static let sha384 = der(Tag.sequence, Identifier.sha384)
    private static let salt = der(Tag.field(2), der(Tag.integer, [32]))
    private static let trailer = der(Tag.field(3), der(Tag.integer, [1]))

    private static func hash(_ hash: [UInt8]) -> [UInt8] { der(Tag.field(0), hash) }

    private static func mask(_ parts: [UInt8]...) -> [UInt8] { der(Tag.field(1), der(Tag.sequence, parts.flatMap { $0 })) }

    private func outcome(parameters: [UInt8]) -> Result<TLSServerEndPoint, TLSServerEndPointError> {
        TLSChannelBindingTests.outcome(of: certificate(algorithm: der(Tag.sequence, Identifier.pss, parameters)))
    }

    @Test(arguments: [
        // An omitted function is SHA-1, which SHA-256 replaces; an explicit SHA-1 is not DER, but occurs.
        (der(Tag.sequence), 32),
        (der(Tag.sequence, hash(sha1), mask(Identifier.mgf1, sha1)), 32),
        (der(Tag.sequence, mask(Identifier.mgf1, sha1), salt, trailer), 32),
        (der(Tag.sequence, hash(sha256), mask(Identifier.mgf1, sha256)), 32),
        (der(Tag.sequence, hash(sha384), mask(Identifier.mgf1, sha384), salt, trailer), 48),
    ])
    func `PSS parameters with one hash function have bindings`(parameters: [UInt8], length: Int) {
        #expect(outcome(parameters: parameters).digest?.count == 2 * length)
    }

    @Test(arguments: [
        der(Tag.sequence, hash(sha256)),
        der(Tag.sequence, hash(sha256), salt),
        der(Tag.sequence, mask(Identifier.mgf1, sha256)),
        der(Tag.sequence, hash(sha256), mask(Identifier.mgf1, sha384)),
        // A mask generation function other than MGF1.
        der(Tag.sequence, hash(sha256), mask(Identifier.sha256, sha256)),
        der(Tag.sequence, hash(sha256), mask(Identifier.sha256)),
        // An unknown hash function.
        der(Tag.sequence, hash(der(Tag.sequence, Identifier.pss)), mask(Identifier.mgf1, der(Tag.sequence, Identifier.pss))),
    ])
    func `PSS parameters with two or unknown hash functions have no bindings`(parameters: [UInt8]) {
        #expect(outcome(parameters: parameters).code == .undefined)
    }

    @Test(arguments: [
        [],
        der(Tag.null),
        sha256,
        der(Tag.sequence, salt, hash(sha256)),
        der(Tag.sequence, hash(sha256), hash(sha256)),
        der(Tag.sequence, hash(Identifier.sha256)),
        der(Tag.sequence, hash([])),
        der(Tag.sequence, hash(sha256 + sha256)),
        der(Tag.sequence, hash(sha256), mask(Identifier.mgf1)),
        der(Tag.sequence, hash(sha256), mask(Identifier.mgf1, der(Tag.null))),
        der(Tag.sequence, hash(sha256), mask()),
        der(Tag.sequence, hash(sha256), mask(Identifier.mgf1, sha256), salt, trailer, der(Tag.field(4), der(Tag.null))),
        der(Tag.sequence) + der(Tag.null),
    ])
    func `invalid PSS parameters are malformed`(parameters: [UInt8]) {
        #expect(outcome(parameters: parameters).code == .malformed)
    }
}
