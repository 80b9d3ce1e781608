import SwiftASN1

/// The outermost fields of a certificate (RFC 5280 section 4.1.1).
///
/// One of them says what the hash is, so SwiftASN1 is enough. X509 of swift-certificates would take half as long again to build, and refuse
/// certificates for parts that do not matter here.
struct CertificateOutline {
    let signatureAlgorithm: AlgorithmIdentifier

    /// Reads a certificate.
    ///
    /// - Throws: An error of SwiftASN1 when the bytes are not exactly one certificate.
    init(der: [UInt8]) throws {
        guard der.count <= Self.maximumLength else {
            throw ASN1Error.invalidASN1Object(reason: "A certificate of \(der.count) bytes")
        }
        signatureAlgorithm = try DER.sequence(DER.parse(der), identifier: .sequence) { fields in
            guard let body = fields.next(), body.identifier == .sequence, case .constructed = body.content else {
                throw ASN1Error.invalidASN1Object(reason: "No tbsCertificate")
            }
            let algorithm = try AlgorithmIdentifier(derEncoded: &fields)
            _ = try ASN1BitString(derEncoded: &fields)
            return algorithm
        }
    }

    /// SwiftASN1 makes a node of every value, of two bytes too: without a limit, a certificate of the 16 MiB that TLS allows would cost
    /// almost a gigabyte of memory. TLS libraries take chains up to 100 KiB.
    private static let maximumLength = 1 << 20
}
