internal import ExtensionProfile
internal import Foundation

/// What `ksso profile check --json` prints.
struct ProfileCheckDocument: Encodable {
    /// One key, or a faulty part of its value.
    struct Key: Encodable {
        let path: String
        let key: String
        /// The value on one line; null where a required key is missing.
        let value: String?
        /// `used`, `notApplicable`, `misspelt`, `unknown`, `wrongType`, `badValue` or `missing`.
        let verdict: String
        /// The verdict in words.
        let detail: String
        let isError: Bool
    }

    struct Signature: Encodable {
        struct Signer: Encodable {
            let subject: String
            let issuer: String
            let validUntil: Date
        }

        let signers: [Signer]
        let isTrusted: Bool
        let trust: String
    }

    /// A remark on more than one value.
    struct Advice: Encodable {
        let path: String
        /// `error`, `warning` or `advice`.
        let severity: String
        let detail: String
    }

    let file: String
    /// Whether the profile can be used without being mended.
    let isValid: Bool
    let keys: [Key]
    let advice: [Advice]
    /// Payloads for somebody else, each with the reason.
    let ignoredPayloads: [String]
    let signature: Signature?
    /// Why the machine's policy refuses the file; null where it does not.
    let refusal: String?

    init(_ report: ProfileReport) {
        file = report.source
        isValid = !report.hasErrors
        keys = report.rows.map { row in
            Key(
                path: row.path.description,
                key: row.key,
                value: row.value?.description,
                verdict: row.verdict.name,
                detail: row.verdict.description,
                isError: row.verdict.isError
            )
        }
        advice = report.advice.map { Advice(path: $0.path.description, severity: $0.severity.rawValue, detail: $0.sentence) }
        ignoredPayloads = report.ignoredPayloads.map(\.description)
        signature = report.signature.map { signature in
            Signature(
                signers: signature.signers.map { .init(subject: $0.subject, issuer: $0.issuer, validUntil: $0.validUntil) },
                isTrusted: signature.isTrusted,
                trust: signature.trust.description
            )
        }
        refusal = report.refusal?.reason
    }
}
