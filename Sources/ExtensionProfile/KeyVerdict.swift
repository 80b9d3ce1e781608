/// What was made of one key of a profile.
public enum KeyVerdict: Sendable, Hashable, CustomStringConvertible {
    /// It is acted on.
    case used
    /// It is right, and means nothing on Linux.
    case notApplicable(reason: String)
    /// No key has this name here, and one that is known is meant by all appearance. The suggestion is that key's path from the payload.
    case misspelt(suggestion: String)
    /// No key has this name.
    case unknown
    /// The value is of another type.
    case wrongType(expected: String, found: String)
    /// The value is of the right type, and cannot be.
    case badValue(reason: String)
    /// The key is required and is not there.
    case missing(expected: String)

    /// Whether the profile should be mended before anyone uses it.
    public var isError: Bool {
        switch self {
        case .misspelt, .wrongType, .badValue, .missing: true
        case .used, .notApplicable, .unknown: false
        }
    }

    /// The verdict's stable name, for machines: `used`, `notApplicable`, `misspelt`, `unknown`, `wrongType`, `badValue`, `missing`.
    public var name: String {
        switch self {
        case .used: "used"
        case .notApplicable: "notApplicable"
        case .misspelt: "misspelt"
        case .unknown: "unknown"
        case .wrongType: "wrongType"
        case .badValue: "badValue"
        case .missing: "missing"
        }
    }

    /// The verdict in words.
    public var description: String {
        switch self {
        case .used: "used"
        case .notApplicable(let reason): "not applicable on Linux: \(reason)"
        case .misspelt(let suggestion): "not a key; \(suggestion) is probably meant"
        case .unknown: "not a key of the Kerberos extension; it is ignored"
        case .wrongType(let expected, let found): "found \(found), expected \(expected)"
        case .badValue(let reason): reason
        case .missing(let expected): "required, and not there; expected \(expected)"
        }
    }
}
