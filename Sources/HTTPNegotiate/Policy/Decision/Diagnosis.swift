/// All layers between a user and a server, in the order in which a sign-on passes them: what `ksso doctor` prints.
public struct Diagnosis: Sendable, Hashable, Codable {
    /// The layers, each with its verdict.
    public let checks: [DiagnosticCheck]
    /// Whether no layer fails. A doubtful one is no failure.
    public let isHealthy: Bool

    /// Sums up what was seen.
    public init(_ checks: [DiagnosticCheck]) {
        self.checks = checks
        isHealthy = !checks.contains { $0.verdict == .failed }
    }

    /// The cause: the lowest layer that fails. What stands above it may fail for that reason alone.
    public var firstFailure: DiagnosticCheck? { checks.first { $0.verdict == .failed } }

    private enum CodingKeys: String, CodingKey {
        case checks
        case isHealthy = "healthy"
    }
}

/// One layer that was looked at on the way from the profile to the server's answer.
public struct DiagnosticCheck: Sendable, Hashable, Codable {
    /// What the look came to.
    public enum Verdict: String, Sendable, Hashable, Codable {
        /// The layer is as it should be.
        case ok
        /// It serves, and something about it is doubtful.
        case warning
        /// Sign-on fails here.
        case failed
        /// It was not looked at; the detail says why.
        case skipped
    }

    /// A short stable name: `profile`, `configuration`, `host`, `name`, `dns`, `kdc`, `clock`, `account`, `cache`, `visibility`, `session`,
    /// `expiry`, `service`, `keytab`, `challenge`, `token`, `mutualAuthentication`, `browser`. New ones may be added, and one may stand
    /// several times: once for each KDC.
    public let name: String
    /// What the look came to.
    public let verdict: Verdict
    /// What was seen, in a sentence.
    public let detail: String
    /// What to do about it; nil where nothing is to be done.
    public let remedy: String?

    /// Makes a check's result.
    public init(_ name: String, _ verdict: Verdict, _ detail: String, remedy: String? = nil) {
        self.name = name
        self.verdict = verdict
        self.detail = detail
        self.remedy = remedy
    }

    /// Writes all four keys; a remedy that is not there is null.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(name, forKey: .name)
        try container.encode(verdict, forKey: .verdict)
        try container.encode(detail, forKey: .detail)
        try container.encode(remedy, forKey: .remedy)
    }
}
