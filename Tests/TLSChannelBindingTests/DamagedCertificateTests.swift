import TestSupport
import Testing

@testable import TLSChannelBinding

/// Certificates with damaged bytes; fixed seeds make a failure reproducible.
struct DamagedCertificateTests {
    @Test(arguments: 1...10 as ClosedRange<UInt64>)
    func `a damaged certificate is read without a trap`(seed: UInt64) throws {
        var generator = SeededGenerator(seed: seed)
        let certificates = try ["ecdsa-sha256", "pss-sha384", "pss-default", "ed25519"].map { try Certificate.named($0).bytes() }
        for _ in 0..<300 {
            var bytes = try #require(certificates.randomElement(using: &generator))
            // The lengths and the identifiers are in the head and in the signature algorithm.
            let hasHead = Bool.random(using: &generator)
            let places = hasHead ? 0..<64 : (bytes.count - min(350, bytes.count))..<bytes.count
            for _ in 0..<Int.random(in: 1...4, using: &generator) {
                bytes[Int.random(in: places, using: &generator)] =
                    [
                        0x00, 0x01, 0x06, 0x30, 0x7F, 0x80, 0x84, 0x88, 0xA0, 0xFF, .random(in: .min ... .max, using: &generator),
                    ].randomElement(using: &generator) ?? 0
            }
            switch outcome(of: bytes) {
            case .success(let bindings): #expect([53, 69, 85].contains(bindings.applicationData.count), "\(bytes)")
            case .failure(let error): #expect([.malformed, .undefined].contains(error.code), "\(bytes)")
            }
        }
    }
}
