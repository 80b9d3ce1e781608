import SwiftASN1

/// A `KDC-PROXY-MESSAGE` (MS-KKDCP section 2.2.2), which carries a Kerberos message over HTTPS. Its `dclocator-hint` is ignored.
struct KDCProxyEnvelope: DERParseable, DERSerializable {
    /// The message after its four-byte length, as over TCP.
    var message: [UInt8]
    /// The realm of the KDC; nil in a reply.
    var realm: String?

    init(message: [UInt8], realm: String? = nil) {
        self.message = message
        self.realm = realm
    }

    init(derEncoded node: ASN1Node) throws {
        self = try DER.sequence(node, identifier: .sequence) { fields in
            let message = try DER.explicitlyTagged(&fields, tagNumber: 0, tagClass: .contextSpecific) {
                try ASN1OctetString(derEncoded: $0)
            }
            let realm = try DER.optionalExplicitlyTagged(&fields, tagNumber: 1, tagClass: .contextSpecific) { node in
                guard node.identifier == .generalString, case .primitive(let bytes) = node.content else {
                    throw ASN1Error.unexpectedFieldType(node.identifier)
                }
                return String(decoding: bytes, as: UTF8.self)
            }
            _ = try DER.optionalExplicitlyTagged(&fields, tagNumber: 2, tagClass: .contextSpecific) { try Int(derEncoded: $0) }
            return KDCProxyEnvelope(message: Array(message.bytes), realm: realm)
        }
    }

    func serialize(into coder: inout DER.Serializer) throws {
        try coder.appendConstructedNode(identifier: .sequence) { fields in
            let message = ASN1OctetString(contentBytes: ArraySlice(message))
            try fields.serialize(message, explicitlyTaggedWithTagNumber: 0, tagClass: .contextSpecific)
            guard let realm else { return }
            fields.serialize(explicitlyTaggedWithTagNumber: 1, tagClass: .contextSpecific) { tagged in
                tagged.appendPrimitiveNode(identifier: .generalString) { $0.append(contentsOf: realm.utf8) }
            }
        }
    }
}
