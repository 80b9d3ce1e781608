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
