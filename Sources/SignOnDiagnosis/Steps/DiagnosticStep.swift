/// The check of one layer, whose findings later steps use.
struct DiagnosticStep: Sendable {
    /// The name of its check, or of its first one.
    let name: String
    /// The time limit, after which the step is abandoned.
    let limit: Duration
    /// Returns the remedy if the step hangs; must not block.
    let hangingRemedy: (@Sendable (DiagnosticFindings) -> String)?
    /// Runs the step, and stores its results in the findings.
    let look: @Sendable (inout DiagnosticFindings) async -> [DiagnosticCheck]

    init(
        _ name: String,
        limit: Duration = .seconds(4),
        hangingRemedy: (@Sendable (DiagnosticFindings) -> String)? = nil,
        _ look: @escaping @Sendable (inout DiagnosticFindings) async -> [DiagnosticCheck]
    ) {
        self.name = name
        self.limit = limit
        self.hangingRemedy = hangingRemedy
        self.look = look
    }

    /// All steps, in the order in which a sign-on passes the layers. The cache precedes the session that it contains.
    static let all: [DiagnosticStep] = [
        .configuration, .host, .name, .locations, .site, .keyDistributionCenters, .clock, .account, .certificate, .cache, .visibility,
        .session, .directory, .expiry, .service, .keytab, .challenge, .token, .browsers, .git, .proxyClients,
    ]

    /// Creates a step with one check, which has the step's name.
    static func check(
        _ name: String,
        limit: Duration = .seconds(4),
        hangingRemedy: (@Sendable (DiagnosticFindings) -> String)? = nil,
        _ look: @escaping @Sendable (inout DiagnosticFindings) async -> Finding
    ) -> DiagnosticStep {
        DiagnosticStep(name, limit: limit, hangingRemedy: hangingRemedy) { findings in
            guard let check = await look(&findings).check(name) else { return [] }
            return [check]
        }
    }
}

/// The result of a check, before it has a name.
enum Finding: Sendable {
    case ok(String)
    case warning(String, remedy: String? = nil)
    case failed(String, remedy: String? = nil)
    case skipped(String)
    /// There is nothing to report, for example about a server if no URL was given.
    case nothing

    func check(_ name: String) -> DiagnosticCheck? {
        switch self {
        case .ok(let detail): DiagnosticCheck(name, .ok, detail)
        case .warning(let detail, let remedy): DiagnosticCheck(name, .warning, detail, remedy: remedy)
        case .failed(let detail, let remedy): DiagnosticCheck(name, .failed, detail, remedy: remedy)
        case .skipped(let detail): DiagnosticCheck(name, .skipped, detail)
        case .nothing: nil
        }
    }
}
