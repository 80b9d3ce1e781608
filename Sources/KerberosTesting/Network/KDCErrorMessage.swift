import Foundation
import NIOCore
import SwiftASN1

/// A `KRB-ERROR` message (RFC 4120 section 5.9.1) of a realm's KDC, with only the required fields and those of a referral.
struct KDCErrorMessage: DERSerializable {
    let code: KDCErrorCode
    let realm: String
    /// The realm of the client, if the client is referred to it.
    var clientRealm: String?
    let now: Date

    /// Returns the DER encoding of the message.
    func bytes() throws -> ByteBuffer {
        var serializer = DER.Serializer()
        try serializer.serialize(self)
        return ByteBuffer(bytes: serializer.serializedBytes)
    }

    func serialize(into coder: inout DER.Serializer) throws {
        try coder.appendConstructedNode(identifier: .init(tagWithNumber: 30, tagClass: .application)) { message in
            try message.appendConstructedNode(identifier: .sequence) { fields in
                try fields.serialize(5, explicitlyTaggedWithTagNumber: 0, tagClass: .contextSpecific)  // pvno
                try fields.serialize(30, explicitlyTaggedWithTagNumber: 1, tagClass: .contextSpecific)  // msg-type
                try fields.serialize(try time(), explicitlyTaggedWithTagNumber: 4, tagClass: .contextSpecific)
                try fields.serialize(0, explicitlyTaggedWithTagNumber: 5, tagClass: .contextSpecific)  // susec
                try fields.serialize(code.rawValue, explicitlyTaggedWithTagNumber: 6, tagClass: .contextSpecific)
                if let clientRealm {
                    fields.serialize(explicitlyTaggedWithTagNumber: 7, tagClass: .contextSpecific) { field in
                        field.append(clientRealm, as: .generalString)
                    }
                    try fields.serialize(explicitlyTaggedWithTagNumber: 8, tagClass: .contextSpecific) { field in
                        try serializeName(type: 1, ["client"], into: &field)
                    }
                }
                fields.serialize(explicitlyTaggedWithTagNumber: 9, tagClass: .contextSpecific) { $0.append(realm, as: .generalString) }
                try fields.serialize(explicitlyTaggedWithTagNumber: 10, tagClass: .contextSpecific) { field in
                    try serializeName(type: 2, ["krbtgt", realm], into: &field)  // NT-SRV-INST
                }
            }
        }
    }

    /// Encodes a `PrincipalName`.
    private func serializeName(type: Int, _ components: [String], into coder: inout DER.Serializer) throws {
        try coder.appendConstructedNode(identifier: .sequence) { name in
            try name.serialize(type, explicitlyTaggedWithTagNumber: 0, tagClass: .contextSpecific)
            name.serialize(explicitlyTaggedWithTagNumber: 1, tagClass: .contextSpecific) { tagged in
                tagged.appendConstructedNode(identifier: .sequence) { list in
                    for component in components { list.append(component, as: .generalString) }
                }
            }
        }
    }

    /// Returns the time as `KerberosTime`: UTC in whole seconds.
    private func time() throws -> GeneralizedTime {
        var calendar = Calendar(identifier: .gregorian)
        calendar.timeZone = .gmt
        let parts = calendar.dateComponents([.year, .month, .day, .hour, .minute, .second], from: now)
        return try GeneralizedTime(
            year: parts.year ?? 1970,
            month: parts.month ?? 1,
            day: parts.day ?? 1,
            hours: parts.hour ?? 0,
            minutes: parts.minute ?? 0,
            seconds: parts.second ?? 0,
            fractionalSeconds: 0
        )
    }
}

extension DER.Serializer {
    fileprivate mutating func append(_ text: String, as identifier: ASN1Identifier) {
        appendPrimitiveNode(identifier: identifier) { $0.append(contentsOf: text.utf8) }
    }
}

/// The error code of a `KRB-ERROR` (RFC 4120 section 7.5.9). Any number is permitted.
public struct KDCErrorCode: RawRepresentable, Sendable, Hashable, ExpressibleByIntegerLiteral {
    /// The number of the code.
    public let rawValue: Int32

    /// Creates a code from its number.
    public init(rawValue: Int32) { self.rawValue = rawValue }

    /// Creates a code from its number.
    public init(integerLiteral value: Int32) { rawValue = value }

    /// `KDC_ERR_C_PRINCIPAL_UNKNOWN`: the client does not exist.
    public static let unknownClient: KDCErrorCode = 6
    /// `KDC_ERR_S_PRINCIPAL_UNKNOWN`: the service does not exist.
    public static let unknownService: KDCErrorCode = 7
    /// `KDC_ERR_POLICY`: the KDC's policy rejects the request.
    public static let policy: KDCErrorCode = 12
    /// `KDC_ERR_ETYPE_NOSUPP`: the client and the KDC have no encryption type in common.
    public static let unsupportedEncryptionType: KDCErrorCode = 14
    /// `KDC_ERR_CLIENT_REVOKED`: the account is locked or disabled.
    public static let clientRevoked: KDCErrorCode = 18
    /// `KDC_ERR_KEY_EXPIRED`: the password must be changed.
    public static let keyExpired: KDCErrorCode = 23
    /// `KDC_ERR_PREAUTH_FAILED`: pre-authentication failed, usually because the password is wrong.
    public static let preauthenticationFailed: KDCErrorCode = 24
    /// `KDC_ERR_SVC_UNAVAILABLE`: this KDC is unavailable; another one may answer.
    public static let serviceUnavailable: KDCErrorCode = 29
    /// `KRB_AP_ERR_SKEW`: the clocks differ too much.
    public static let clockSkew: KDCErrorCode = 37
    /// `KRB_ERR_RESPONSE_TOO_BIG`: the reply does not fit in a datagram.
    public static let replyTooBig: KDCErrorCode = 52
    /// `KRB_ERR_GENERIC`: anything else.
    public static let generic: KDCErrorCode = 60
    /// `KDC_ERR_WRONG_REALM`: the client belongs to another realm.
    public static let wrongRealm: KDCErrorCode = 68
}

extension KDCErrorCode: CustomStringConvertible {
    /// The number.
    public var description: String { "\(rawValue)" }
}
