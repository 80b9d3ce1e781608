import SwiftASN1

/// Which algorithm, and its parameters (RFC 5280 section 4.1.1.2).
struct AlgorithmIdentifier: DERParseable {
    let algorithm: ASN1ObjectIdentifier
    let parameters: ASN1Node?

    init(derEncoded node: ASN1Node) throws {
        (algorithm, parameters) = try DER.sequence(node, identifier: .sequence) { fields in
            (try ASN1ObjectIdentifier(derEncoded: &fields), fields.next())
        }
    }
}
