internal import ExtensionProfile
internal import Foundation
internal import KerberosSSO
internal import SignOnPolicy

/// The document that `ksso profile show --json` prints.
struct ProfileShowDocument: Encodable {
    struct ActiveProfile: Encodable {
        let file: String
        /// One for each payload, in the form in which the agent sends them to its clients.
        let configurations: [ExtensionConfiguration]
        /// Null if the file is not signed.
        let signature: ProfileSignatureDocument?

        enum CodingKeys: CodingKey { case file, configurations, signature }

        func encode(to encoder: any Encoder) throws {
            var container = encoder.container(keyedBy: CodingKeys.self)
            try container.encode(file, forKey: .file)
            try container.encode(configurations, forKey: .configurations)
            try container.encode(signature, forKey: .signature)
        }
    }

    /// The active profiles: the system-wide ones before the user's.
    let profiles: [ActiveProfile]

    init(_ sso: SingleSignOn) {
        profiles = sso.profiles.map { profile in
            ActiveProfile(
                file: profile.source,
                configurations: profile.configurations,
                signature: profile.signature.map(ProfileSignatureDocument.init)
            )
        }
    }
}

/// The signature of a profile.
struct ProfileSignatureDocument: Encodable {
    struct Signer: Encodable {
        let subject: String
        let issuer: String
        let validUntil: Date
    }

    let signers: [Signer]
    let isTrusted: Bool
    let trust: String

    init(_ signature: ProfileSignature) {
        signers = signature.signers.map { .init(subject: $0.subject, issuer: $0.issuer, validUntil: $0.validUntil) }
        isTrusted = signature.isTrusted
        trust = signature.trust.description
    }
}

/// The document that `ksso profile check --json` prints.
struct ProfileCheckDocument: Encodable {
    /// A key, or an invalid part of its value.
    struct Key: Encodable {
        let path: String
        let key: String
        /// The value on one line; null if a required key is missing.
        let value: String?
        /// `used`, `notApplicable`, `misspelled`, `unknown`, `wrongType`, `badValue` or `missing`.
        let verdict: String
        /// An explanation of the verdict.
        let detail: String
        let isError: Bool
    }

    /// A remark about more than one value.
    struct Advice: Encodable {
        let path: String
        /// `error`, `warning` or `advice`.
        let severity: String
        let detail: String
    }

    let file: String
    /// Whether the profile can be used as it is.
    let isValid: Bool
    let keys: [Key]
    let advice: [Advice]
    /// Payloads that are not for this program, each with the reason.
    let ignoredPayloads: [String]
    let signature: ProfileSignatureDocument?
    /// Why the system-wide policy refuses the file; null if it does not.
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
        signature = report.signature.map(ProfileSignatureDocument.init)
        refusal = report.refusal?.reason
    }
}
