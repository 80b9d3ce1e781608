import TestSupport
import Testing

@testable import TLSChannelBinding

/// Bytes that are not a certificate in DER.
struct MalformedCertificateTests {
    private static let algorithm = der(Tag.sequence, Identifier.ecdsaSHA256)

    @Test(arguments: ["ecdsa-sha256", "pss-sha384", "ed25519"])
    func `a truncated certificate is malformed`(name: String) throws {
        let bytes = try Certificate.named(name).bytes()
        for length in bytes.indices {
            #expect(outcome(of: Array(bytes[..<length])).code == .malformed, "cut to \(length)")
        }
    }

    @Test(arguments: [[0x00], [0x05, 0x00], [0x0A], [0x30, 0x00]] as [[UInt8]])
    func `a certificate with trailing bytes is malformed`(trailer: [UInt8]) throws {
        for name in ["rsa-sha256", "ed25519"] {
            let bytes = try Certificate.named(name).bytes()
            #expect(outcome(of: bytes + trailer).code == .malformed)
            #expect(outcome(of: bytes + bytes).code == .malformed)
        }
    }

    @Test(
        arguments: [
            // Indefinite, longer than necessary, and larger than any memory.
            [0x80], [0x81, 0x7F], [0x82, 0x00, 0xFF], [0x83, 0x00, 0x01, 0x00], [0x84, 0xFF, 0xFF, 0xFF, 0xFF],
            [0x88, 0x7F, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF], [0x88, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF],
            [0x89, 0x01, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00], [0xFE] + Array(repeating: 0xFF, count: 126), [0xFF],
        ] as [[UInt8]]
    )
    func `a length that is not DER is malformed`(length: [UInt8]) throws {
        let content = der(Tag.sequence) + Self.algorithm + [0x03, 0x01, 0x00]
        #expect(outcome(of: der(Tag.sequence, content)).code == nil)
        #expect(outcome(of: [Tag.sequence] + length + content).code == .malformed)
        #expect(outcome(of: [Tag.sequence] + length + content + [0x00, 0x00]).code == .malformed)
        // The same one level down.
        #expect(
            outcome(of: der(Tag.sequence, [Tag.sequence] + length + [0x00, 0x00], Self.algorithm, [0x03, 0x01, 0x00])).code == .malformed
        )
    }

    @Test(arguments: [
        [],
        Array("-----BEGIN CERTIFICATE-----".utf8),
        der(Tag.sequence),
        der(Tag.null),
        algorithm,
        der(0x31, der(Tag.sequence), algorithm, [0x03, 0x01, 0x00]),
        // A sequence whose tag is primitive.
        der(0x10, der(Tag.sequence), algorithm, [0x03, 0x01, 0x00]),
        certificate(algorithm: algorithm, body: der(0x10)),
        certificate(algorithm: algorithm, body: der(0x31)),
        certificate(algorithm: algorithm, body: der(Tag.integer, [1])),
        certificate(algorithm: der(Tag.sequence)),
        certificate(algorithm: der(Tag.null)),
        certificate(algorithm: Identifier.ecdsaSHA256),
        certificate(algorithm: der(Tag.sequence, der(0x06))),
        certificate(algorithm: der(Tag.sequence, der(0x06, [0x2A, 0x86]))),
        certificate(algorithm: der(Tag.sequence, der(0x06, [0x2A, 0x80, 0x01]))),
        certificate(algorithm: der(Tag.sequence, der(0x06, Array(repeating: 0xFF, count: 40) + [0x01]))),
        certificate(algorithm: der(Tag.sequence, Identifier.ecdsaSHA256, der(Tag.null), der(Tag.null))),
        certificate(algorithm: algorithm, signature: []),
        certificate(algorithm: algorithm, signature: [0x03, 0x00]),
        certificate(algorithm: algorithm, signature: [0x03, 0x01, 0x08]),
        certificate(algorithm: algorithm, signature: [0x04, 0x01, 0x00]),
        certificate(algorithm: algorithm, signature: [0x03, 0x01, 0x00, 0x05, 0x00]),
    ])
    func `a value without the structure of a certificate is malformed`(_ bytes: [UInt8]) {
        #expect(outcome(of: bytes).code == .malformed)
    }

    @Test func `an error includes its cause`() {
        guard case .failure(let error) = outcome(of: []) else {
            Issue.record("empty data was accepted as a certificate")
            return
        }
        #expect(error.cause != nil)
        #expect(error.description == error.message)
        #expect(error == TLSServerEndPointError(.malformed, error.message))
    }

    @Test func `a deeply nested certificate is malformed`() {
        var body = der(Tag.sequence)
        for _ in 0..<20_000 { body = der(Tag.sequence, body) }
        #expect(outcome(of: certificate(algorithm: Self.algorithm, body: body)).code == .malformed)
    }

    /// Anything worse than linear would take hours.
    @Test(
        .computation,
        .timeLimit(.minutes(60)),
        arguments: [
            Array(repeating: [0x05, 0x00], count: 500_000).flatMap { $0 },
            Array(repeating: [0x30, 0x02, 0x30, 0x00], count: 250_000).flatMap { $0 },
        ] as [[UInt8]]
    )
    func `a long certificate is read in linear time`(content: [UInt8]) {
        #expect(outcome(of: certificate(algorithm: Self.algorithm, body: der(Tag.sequence, content))).code == nil)
    }

    @Test func `a certificate larger than 1 MiB is malformed`() {
        let room = (1 << 20) - certificate(algorithm: Self.algorithm, body: der(0x04, Array(repeating: 0, count: 1 << 19))).count
        for (surplus, code) in [(0, nil), (1, .malformed)] as [(Int, TLSServerEndPointError.Code?)] {
            let content = der(0x04, Array(repeating: 0, count: (1 << 19) + room + surplus - 5))
            let bytes = certificate(algorithm: Self.algorithm, body: der(Tag.sequence, content))
            #expect(bytes.count == (1 << 20) + surplus)
            #expect(outcome(of: bytes).code == code)
        }
    }
}
