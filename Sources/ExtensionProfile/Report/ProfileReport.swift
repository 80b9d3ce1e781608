public import Foundation

/// The complete report on a profile's keys, which `ksso profile check` prints.
///
/// Every file that can be parsed has a report, even if ``Profile`` refuses it.
public struct ProfileReport: Sendable, Hashable {
    /// The name of the file as the caller passed it.
    public let source: String
    /// One row for each key that was found or is missing: first those around the payloads, then payload by payload, with `ExtensionData`
    /// last. Keys that were found are sorted by name, and missing keys follow them.
    public internal(set) var rows: [ProfileReportRow] = []
    /// Remarks that concern more than the form of one value.
    public internal(set) var advice: [ProfileAdvice] = []
    /// The payloads that are not for the Kerberos extension.
    public internal(set) var ignoredPayloads: [IgnoredPayload] = []
    /// The number of payloads for the Kerberos extension.
    public internal(set) var kerberosPayloadCount = 0

    /// The file's signature; nil if it is not signed.
    public internal(set) var signature: ProfileSignature?
    /// The error if the machine's policy refuses the file.
    public internal(set) var refusal: ProfileError?

    init(source: String) { self.source = source }

    /// Reports on a profile's contents. May block: if the data is signed, runs the machine's `openssl`.
    ///
    /// Throws a ``ProfileError`` only if there are no keys to report on: the file is empty, too large or encrypted, has a signature that
    /// does not match or cannot be verified, or is neither a property list nor YAML.
    public static func check(data: Data, source: String, policy: ProfilePolicy = .none) throws(ProfileError) -> ProfileReport {
        try ProfileReader(data: data, source: source, policy: policy, examinesMachine: true).report
    }

    /// Reports on a file, which it reads on the caller's thread. Blocks and throws as ``check(data:source:policy:)`` does, and throws if
    /// the file cannot be read.
    public static func check(contentsOf path: String, policy: ProfilePolicy = .none) throws(ProfileError) -> ProfileReport {
        try check(data: ProfileFile.read(path: path), source: path, policy: policy)
    }

    /// The rows with errors, which should be fixed.
    public var errors: [ProfileReportRow] { rows.filter(\.verdict.isError) }

    /// The number of faults that should be fixed before the profile is used: a misspelled or missing key, a value of a wrong type or an
    /// invalid one, a host that occurs twice, no payload for the Kerberos extension, or a refusal by the machine's policy. An unknown key
    /// is only a warning.
    public var faultCount: Int {
        let others = [refusal != nil, kerberosPayloadCount == 0].filter(\.self).count
        return errors.count + advice.filter { $0.severity == .error }.count + others
    }

    /// Whether there is at least one such fault.
    public var hasErrors: Bool { faultCount > 0 }

    /// Whether there is an unknown key, or a remark of severity `warning`.
    public var hasWarnings: Bool {
        rows.contains { $0.verdict == .unknown } || advice.contains { $0.severity == .warning }
    }

    /// The error with which ``Profile`` refuses the file; nil if it is usable. It describes the first fault that makes the file unusable,
    /// and gives the number of all other faults.
    public var rejection: ProfileError? {
        guard let first = refusal ?? firstFault else { return nil }
        guard faultCount > 1 else { return first }
        let others = faultCount == 2 ? "one more error" : "\(faultCount - 1) more errors"
        return ProfileError(
            first.code,
            source: source,
            keyPath: first.keyPath,
            reason: "\(first.reason) The file has \(others); list all with: ksso profile check \(source)"
        )
    }

    private var firstFault: ProfileError? {
        let faults = rows.filter(\.rejectsFile)
        // A required key under a misspelled name is one fault, and is reported first.
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
        rows.first { $0.payloadIndex == missing.payloadIndex && $0.verdict == .misspelled(suggestion: missing.key) }
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
    /// The error code of a fault that makes a file unusable.
    fileprivate var rejectionCode: ProfileError.Code {
        switch self {
        case .wrongType: .wrongType
        case .missing: .missingKey
        default: .badValue
        }
    }
}

/// One key of a profile and its verdict.
///
/// A list with faulty elements has one row per faulty element, with the element's path, instead of one for the list.
public struct ProfileReportRow: Sendable, Hashable, CustomStringConvertible {
    /// The key's name.
    public let key: String
    /// The place of the key, or of the faulty part of its value, in the file.
    public let path: ProfileKeyPath
    /// The payload's index in the file, counted from 0; nil for keys around the payloads.
    public let payloadIndex: Int?
    /// The value that was found; nil if the key is missing.
    public let value: ProfileValue?
    /// The verdict on the key.
    public let verdict: KeyVerdict
    /// Whether this fault makes the whole file unusable, because the key has an effect.
    public let rejectsFile: Bool

    init(key: String, path: ProfileKeyPath, payloadIndex: Int?, value: ProfileValue? = nil, verdict: KeyVerdict, isUsed: Bool) {
        self.key = key
        self.path = path
        self.payloadIndex = payloadIndex
        self.value = value
        self.verdict = verdict
        rejectsFile = isUsed && verdict.isError
    }

    /// Path and verdict on one line.
    public var description: String { "\(path): \(verdict)" }
}

/// The verdict on one key of a profile.
public enum KeyVerdict: Sendable, Hashable, CustomStringConvertible {
    /// The key has an effect.
    case used
    /// The key is valid and has no effect on Linux.
    case notApplicable(reason: String)
    /// The name is not a known key here and is probably a misspelling. The suggestion is the known key's path from the payload.
    case misspelled(suggestion: String)
    /// The name is not a known key.
    case unknown
    /// The value has another type.
    case wrongType(expected: String, found: String)
    /// The value has the right type and is invalid.
    case badValue(reason: String)
    /// The key is required and missing.
    case missing(expected: String)

    /// Whether the profile should be fixed before it is used.
    public var isError: Bool {
        switch self {
        case .misspelled, .wrongType, .badValue, .missing: true
        case .used, .notApplicable, .unknown: false
        }
    }

    /// The verdict's stable name, for programs: `used`, `notApplicable`, `misspelled`, `unknown`, `wrongType`, `badValue`, `missing`.
    public var name: String {
        switch self {
        case .used: "used"
        case .notApplicable: "notApplicable"
        case .misspelled: "misspelled"
        case .unknown: "unknown"
        case .wrongType: "wrongType"
        case .badValue: "badValue"
        case .missing: "missing"
        }
    }

    /// The verdict as text.
    public var description: String {
        switch self {
        case .used: "used"
        case .notApplicable(let reason): "not applicable on Linux: \(reason)"
        case .misspelled(let suggestion): "not a key; \(suggestion) is probably meant"
        case .unknown: "not a key of the Kerberos extension; it is ignored"
        case .wrongType(let expected, let found): "found \(found), expected \(expected)"
        case .badValue(let reason): reason
        case .missing(let expected): "required, but missing; expected \(expected)"
        }
    }
}

/// A remark on a profile that concerns more than the form of one value.
public struct ProfileAdvice: Sendable, Hashable, CustomStringConvertible {
    /// The severity of a remark.
    public enum Severity: String, Sendable, Hashable {
        /// The file cannot be used as it is.
        case error
        /// The profile probably does not do what its author intends.
        case warning
        /// A recommendation.
        case advice
    }

    /// The severity of the remark.
    public let severity: Severity
    /// The place in the file.
    public let path: ProfileKeyPath
    /// The payload's index in the file, counted from 0.
    public let payloadIndex: Int?
    /// A sentence with what was found and what to do.
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

/// A payload of a profile that is not for the Kerberos extension.
public struct IgnoredPayload: Sendable, Hashable, CustomStringConvertible {
    /// The payload's index in the file, counted from 0.
    public let payloadIndex: Int
    /// The payload's place in the file.
    public let path: ProfileKeyPath
    /// The payload's `PayloadType`, if it has one.
    public let type: String?
    /// A clause that says why the payload is not for the Kerberos extension.
    public let reason: String

    /// Path and reason on one line.
    public var description: String { path.isEmpty ? "ignored: \(reason)" : "\(path): ignored: \(reason)" }
}
