import SwiftASN1

/// The parameters of an RSASSA-PSS signature, as far as they name hash functions (RFC 4055 section 3.1).
struct PSSParameters: DERParseable {
    /// The hash function of the signed data.
    let hash: ASN1ObjectIdentifier
    /// The hash function of the mask; nil when the mask is not made with MGF1.
    let maskHash: ASN1ObjectIdentifier?

    init(derEncoded node: ASN1Node) throws {
        (hash, maskHash) = try DER.sequence(node, identifier: .sequence) { fields in
            let hash = try Self.field(0, of: &fields) { try AlgorithmIdentifier(derEncoded: $0).algorithm } ?? Self.sha1
            let mask = try Self.field(1, of: &fields) { try AlgorithmIdentifier(derEncoded: $0) }
            // The length of the salt and the trailer change nothing.
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

    /// What a field that is left out stands for.
    private static let sha1: ASN1ObjectIdentifier = [1, 3, 14, 3, 2, 26]
    private static let mgf1: ASN1ObjectIdentifier = [1, 2, 840, 113_549, 1, 1, 8]
}
