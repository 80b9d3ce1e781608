public import Foundation

/// Everything that can be said about a profile's keys; what `ksso profile check` prints.
///
/// A report is made for every file that can be read at all, also for one that ``Profile`` refuses.
public struct ProfileReport: Sendable, Hashable {
    /// The file, as it was named.
    public let source: String
    /// One row for each key that was found or is missing, in the order of the payloads and, within them, of the names.
    public internal(set) var rows: [ProfileReportRow] = []
    /// Remarks on more than one value.
    public internal(set) var advice: [ProfileAdvice] = []
    /// The payloads that are for somebody else.
    public internal(set) var ignoredPayloads: [IgnoredPayload] = []
    /// How many payloads are for the Kerberos extension.
    public internal(set) var kerberosPayloadCount = 0

    /// Who signed the file; nil where nobody did.
    public internal(set) var signature: ProfileSignature?
    /// Why the machine's policy refuses the file; nil where it does not.
    public internal(set) var refusal: ProfileError?

    init(source: String) { self.source = source }

    /// Reports on a profile's content.
    ///
    /// Throws a ``ProfileError`` only when there are no keys to report on: the file is empty, too large, encrypted, has a signature that
    /// does not match, or is neither a property list nor YAML.
    public static func check(data: Data, source: String, policy: ProfilePolicy = .none) throws(ProfileError) -> ProfileReport {
        try ProfileReader(data: data, source: source, policy: policy).report
    }

    /// Reports on a file. Throws as ``check(data:source:policy:)`` does, and when the file cannot be read.
    public static func check(contentsOf path: String, policy: ProfilePolicy = .none) throws(ProfileError) -> ProfileReport {
        try check(data: ProfileFile.read(path: path), source: path, policy: policy)
    }

    /// The rows that should be mended.
    public var errors: [ProfileReportRow] { rows.filter(\.verdict.isError) }

    /// How many faults should be mended before the profile is used: a key misspelt, missing, of the wrong type or with a value that it
    /// cannot have, a host that stands twice, no payload for the Kerberos extension at all, or what the machine's policy refuses. An
    /// unknown key is only a warning.
    public var faultCount: Int {
        let others = [refusal != nil, kerberosPayloadCount == 0].filter(\.self).count
        return errors.count + advice.filter { $0.severity == .error }.count + others
    }

    /// Whether there is such a fault.
    public var hasErrors: Bool { faultCount > 0 }

    /// Whether there is an unknown key, or a remark that is graver than advice.
    public var hasWarnings: Bool {
        rows.contains { $0.verdict == .unknown } || advice.contains { $0.severity == .warning }
    }

    /// Why ``Profile`` refuses the file; nil when it is usable. The first fault that makes it unusable is named, the others are counted,
    /// whatever they are.
    public var rejection: ProfileError? {
        guard let first = refusal ?? firstFault else { return nil }
        guard faultCount > 1 else { return first }
        let others = faultCount == 2 ? "One more fault is" : "\(faultCount - 1) more faults are"
        return ProfileError(
            first.code,
            source: source,
            keyPath: first.keyPath,
            reason: "\(first.reason) \(others) in this file; see them with: ksso profile check \(source)"
        )
    }

    private var firstFault: ProfileError? {
        let faults = rows.filter(\.rejectsFile)
        // A required key that is there under a wrong name is one slip, and the first to mend.
        let slip = faults.lazy.filter { $0.verdict.rejectionCode == .missingKey }.compactMap(misspelling(of:)).first
        if let row = slip ?? faults.first {
            let code = slip == nil ? row.verdict.rejectionCode : .missingKey
            return ProfileError(code, source: source, keyPath: row.path, reason: ProfileReport.asSentence(row.verdict.description))
        }
        if let remark = advice.first(where: { $0.severity == .error }) {
            return ProfileError(.repeatedHost, source: source, keyPath: remark.path, reason: remark.sentence)
        }
        return kerberosPayloadCount == 0 ? noPayload : nil
    }

    private func misspelling(of missing: ProfileReportRow) -> ProfileReportRow? {
        rows.first { $0.payloadIndex == missing.payloadIndex && $0.verdict == .misspelt(suggestion: missing.key) }
    }

    private var noPayload: ProfileError {
        let found = ignoredPayloads.isEmpty ? "it has none" : ignoredPayloads.map(\.description).joined(separator: "; ")
        return ProfileError(
            .noKerberosPayload,
            source: source,
            reason: "No payload of PayloadType com.apple.extensiblesso and Type Credential is for the Kerberos extension: \(found)."
        )
    }

    private static func asSentence(_ text: String) -> String {
        let first = text.prefix(1).uppercased() + text.dropFirst()
        return first.hasSuffix(".") ? first : first + "."
    }
}

extension KeyVerdict {
    /// What kind of fault it is where it makes a file unusable.
    fileprivate var rejectionCode: ProfileError.Code {
        switch self {
        case .wrongType: .wrongType
        case .missing: .missingKey
        default: .badValue
        }
    }
}

/// One key of a profile and what was made of it.
///
/// A list with faulty elements has a row for each of these instead of its own, with the element's path.
public struct ProfileReportRow: Sendable, Hashable, CustomStringConvertible {
    /// The key's name.
    public let key: String
    /// Where the key, or the faulty part of its value, stands in the file.
    public let path: ProfileKeyPath
    /// The payload's place in the file, counted from 0; nil for keys around the payloads.
    public let payloadIndex: Int?
    /// The value that was found, if one was.
    public let value: ProfileValue?
    /// What was made of it.
    public let verdict: KeyVerdict
    /// Whether this fault makes the whole file unusable, since the key is one that is acted on.
    public let rejectsFile: Bool

    init(key: String, path: ProfileKeyPath, payloadIndex: Int?, value: ProfileValue? = nil, verdict: KeyVerdict, isActedOn: Bool) {
        self.key = key
        self.path = path
        self.payloadIndex = payloadIndex
        self.value = value
        self.verdict = verdict
        rejectsFile = isActedOn && verdict.isError
    }

    /// Path and verdict on one line.
    public var description: String { "\(path): \(verdict)" }
}

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

/// A remark on a profile that is about more than the form of one value.
public struct ProfileAdvice: Sendable, Hashable, CustomStringConvertible {
    /// How grave it is.
    public enum Severity: String, Sendable, Hashable {
        /// The file cannot be used as it is.
        case error
        /// It will probably not do what is meant.
        case warning
        /// Something to think about.
        case advice
    }

    /// How grave it is.
    public let severity: Severity
    /// Where in the file.
    public let path: ProfileKeyPath
    /// The payload's place in the file, counted from 0.
    public let payloadIndex: Int?
    /// A sentence that says what stands there and what to do.
    public let sentence: String

    init(_ severity: Severity, path: ProfileKeyPath, payloadIndex: Int?, _ sentence: String) {
        self.severity = severity
        self.path = path
        self.payloadIndex = payloadIndex
        self.sentence = sentence
    }

    /// Path and sentence on one line.
    public var description: String { path.isEmpty ? sentence : "\(path): \(sentence)" }
}

/// A payload of a profile that is for somebody else.
public struct IgnoredPayload: Sendable, Hashable, CustomStringConvertible {
    /// The payload's place in the file, counted from 0.
    public let payloadIndex: Int
    /// Where it stands.
    public let path: ProfileKeyPath
    /// Its `PayloadType`, if it has one.
    public let type: String?
    /// A clause that says why it is not for the Kerberos extension.
    public let reason: String

    /// Path and reason on one line.
    public var description: String { "\(path): ignored: \(reason)" }
}
