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
