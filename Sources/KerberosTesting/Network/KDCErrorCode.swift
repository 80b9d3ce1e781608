/// The error code of a `KRB-ERROR` (RFC 4120 section 7.5.9); any number will do.
public struct KDCErrorCode: RawRepresentable, Sendable, Hashable, ExpressibleByIntegerLiteral {
    /// The number, from 0.
    public let rawValue: Int32

    /// Creates a code from its number.
    public init(rawValue: Int32) { self.rawValue = rawValue }

    /// Creates a code from its number.
    public init(integerLiteral value: Int32) { rawValue = value }

    /// `KDC_ERR_C_PRINCIPAL_UNKNOWN`: there is no such client.
    public static let unknownClient: KDCErrorCode = 6
    /// `KDC_ERR_S_PRINCIPAL_UNKNOWN`: there is no such service.
    public static let unknownService: KDCErrorCode = 7
    /// `KDC_ERR_POLICY`: the KDC's policy forbids it.
    public static let policy: KDCErrorCode = 12
    /// `KDC_ERR_ETYPE_NOSUPP`: client and KDC share no encryption type.
    public static let unsupportedEncryptionType: KDCErrorCode = 14
    /// `KDC_ERR_CLIENT_REVOKED`: the account is locked or disabled.
    public static let clientRevoked: KDCErrorCode = 18
    /// `KDC_ERR_KEY_EXPIRED`: the password has to be changed.
    public static let keyExpired: KDCErrorCode = 23
    /// `KDC_ERR_PREAUTH_FAILED`: the password is wrong.
    public static let preauthenticationFailed: KDCErrorCode = 24
    /// `KDC_ERR_SVC_UNAVAILABLE`: the KDC cannot answer now; another may.
    public static let serviceUnavailable: KDCErrorCode = 29
    /// `KRB_AP_ERR_SKEW`: the clocks differ too much.
    public static let clockSkew: KDCErrorCode = 37
    /// `KRB_ERR_RESPONSE_TOO_BIG`: the reply does not fit into a datagram.
    public static let replyTooBig: KDCErrorCode = 52
    /// `KRB_ERR_GENERIC`: anything else.
    public static let generic: KDCErrorCode = 60
    /// `KDC_ERR_WRONG_REALM`: another realm knows the client.
    public static let wrongRealm: KDCErrorCode = 68
}

extension KDCErrorCode: CustomStringConvertible {
    /// The number.
    public var description: String { "\(rawValue)" }
}
