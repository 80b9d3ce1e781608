internal import HTTPNegotiate

/// A look at one layer: what was seen, and what later looks may build on.
struct DiagnosticStep: Sendable {
    /// The name of its check, or of its first.
    let name: String
    /// How long it may take; it is abandoned then.
    let limit: Duration
    /// What to do where it hangs; it does not wait.
    let hangingRemedy: (@Sendable (DiagnosticFindings) -> String)?
    /// Looks, and leaves what it has found out in the findings.
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

    /// All of them, in the order in which a sign-on passes the layers. The cache stands before the session that it holds.
    static let all: [DiagnosticStep] = [
        .configuration, .host, .name, .locations, .keyDistributionCenters, .clock, .account, .cache, .visibility, .session, .expiry,
        .service, .keytab, .challenge, .token, .browsers,
    ]

    /// One check by the step's name.
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

/// What one look came to, before it has a name.
enum Finding: Sendable {
    case ok(String)
    case warning(String, remedy: String? = nil)
    case failed(String, remedy: String? = nil)
    case skipped(String)
    /// There is nothing to say, such as of a server when no URL was given.
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

/// How much longer than usual the doctor waits for each answer.
///
/// The usual limits are for a person who waits. On a machine that is starved of processor time, such as one that runs many tests at once,
/// a server that works would be reported as one that does not answer.
enum Patience {
    @TaskLocal static var factor = 1.0
}

extension Duration {
    /// The limit under the current ``Patience``.
    var patient: Duration { self * Patience.factor }
}
