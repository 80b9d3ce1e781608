/// The checks of all layers between a user and a server, in the order of a sign-on: the output of `ksso doctor`.
package struct Diagnosis: Sendable, Hashable, Codable {
    /// The checks, each with its result.
    package let checks: [DiagnosticCheck]
    /// Whether no check fails. Warnings are not failures.
    package let isHealthy: Bool

    /// Creates a diagnosis from its checks.
    package init(_ checks: [DiagnosticCheck]) {
        self.checks = checks
        isHealthy = !checks.contains { $0.verdict == .failed }
    }

    /// The cause: the first check that fails. Later ones may fail for that reason alone.
    package var firstFailure: DiagnosticCheck? { checks.first { $0.verdict == .failed } }

    private enum CodingKeys: String, CodingKey {
        case checks
        case isHealthy = "healthy"
    }
}

/// The check of one layer between the profile and the server's answer.
package struct DiagnosticCheck: Sendable, Hashable, Codable {
    /// The result of a check.
    package enum Verdict: String, Sendable, Hashable, Codable {
        /// The layer works.
        case ok
        /// The layer works, but something needs attention.
        case warning
        /// Sign-on fails in this layer.
        case failed
        /// The check did not run; the detail says why.
        case skipped
    }

    /// A short stable name: `profile`, `configuration`, `host`, `name`, `dns`, `site`, `kdc`, `clock`, `account`, `cache`, `visibility`,
    /// `session`, `expiry`, `service`, `keytab`, `challenge`, `token`, `mutualAuthentication`, `browser`, `git`, `proxy`. New ones may be
    /// added, and one may occur several times, such as once for each KDC.
    package let name: String
    /// The result of the check.
    package let verdict: Verdict
    /// What was found, in a sentence.
    package let detail: String
    /// What to do about it; nil if nothing.
    package let remedy: String?

    /// Creates the result of a check.
    package init(_ name: String, _ verdict: Verdict, _ detail: String, remedy: String? = nil) {
        self.name = name
        self.verdict = verdict
        self.detail = detail
        self.remedy = remedy
    }

    /// Encodes all four keys; a missing remedy is null.
    package func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(name, forKey: .name)
        try container.encode(verdict, forKey: .verdict)
        try container.encode(detail, forKey: .detail)
        try container.encode(remedy, forKey: .remedy)
    }
}
