import SwiftASN1

/// The hash functions in the parameters of an RSASSA-PSS signature (RFC 4055 section 3.1).
struct PSSParameters: DERParseable {
    /// The hash function of the signed data.
    let hash: ASN1ObjectIdentifier
    /// The hash function of the mask; nil if the mask generation function is not MGF1.
    let maskHash: ASN1ObjectIdentifier?

    init(derEncoded node: ASN1Node) throws {
        (hash, maskHash) = try DER.sequence(node, identifier: .sequence) { fields in
            let hash = try Self.field(0, of: &fields) { try AlgorithmIdentifier(derEncoded: $0).algorithm } ?? Self.sha1
            let mask = try Self.field(1, of: &fields) { try AlgorithmIdentifier(derEncoded: $0) }
            // The salt length and the trailer have no effect.
            _ = try Self.field(2, of: &fields) { $0 }
            _ = try Self.field(3, of: &fields) { $0 }
            return (hash, try Self.maskHash(of: mask))
        }
    }

    private static func maskHash(of mask: AlgorithmIdentifier?) throws -> ASN1ObjectIdentifier? {
        guard let mask else { return sha1 }
        guard mask.algorithm == mgf1 else { return nil }
        guard let parameters = mask.parameters else { throw ASN1Error.invalidASN1Object(reason: "MGF1 without a hash function") }
        return try AlgorithmIdentifier(derEncoded: parameters).algorithm
    }

    private static func field<Value>(
        _ number: UInt,
        of fields: inout ASN1NodeCollection.Iterator,
        _ read: (ASN1Node) throws -> Value
    ) throws -> Value? {
        try DER.optionalExplicitlyTagged(&fields, tagNumber: number, tagClass: .contextSpecific, read)
    }

    /// The default of an omitted field.
    private static let sha1: ASN1ObjectIdentifier = [1, 3, 14, 3, 2, 26]
    private static let mgf1: ASN1ObjectIdentifier = [1, 2, 840, 113_549, 1, 1, 8]
}

/// An algorithm and its parameters (RFC 5280 section 4.1.1.2).
struct AlgorithmIdentifier: DERParseable {
    let algorithm: ASN1ObjectIdentifier
    let parameters: ASN1Node?

    init(derEncoded node: ASN1Node) throws {
        (algorithm, parameters) = try DER.sequence(node, identifier: .sequence) { fields in
            (try ASN1ObjectIdentifier(derEncoded: &fields), fields.next())
        }
    }
}

/// The outermost fields of a certificate (RFC 5280 section 4.1.1).
///
/// One of them determines the hash, so SwiftASN1 is enough. X509 of swift-certificates would take half as long again to build, and reject
/// certificates for parts that do not matter here.
struct CertificateOutline {
    let signatureAlgorithm: AlgorithmIdentifier

    /// Parses a certificate.
    ///
    /// - Throws: A SwiftASN1 error if the bytes are not exactly one certificate.
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

    /// SwiftASN1 creates a node for every value, even one of two bytes: without a limit, a certificate of 16 MiB, which TLS allows, would
    /// use almost a gigabyte of memory. TLS libraries accept chains up to 100 KiB.
    private static let maximumLength = 1 << 20
}
