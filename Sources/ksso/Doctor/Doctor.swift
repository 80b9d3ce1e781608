internal import HTTPNegotiate

/// Checks the layers in order, within a total time limit.
struct Doctor {
    /// The documented time limit of the command, less the time for starting and printing.
    static let limit = Duration.seconds(14)

    /// The checks that would block on a cache server that does not answer.
    private static let cacheReaders: Set<String> = ["visibility", "session", "expiry"]

    let steps: [DiagnosticStep]
    let limit: Duration

    init(steps: [DiagnosticStep] = DiagnosticStep.all, limit: Duration = limit) {
        self.steps = steps
        self.limit = limit
    }

    /// Runs all steps and returns their checks. A step that hangs is abandoned and reported as failed; the other steps continue without its
    /// findings.
    func checks(_ findings: DiagnosticFindings) async -> [DiagnosticCheck] {
        let end = ContinuousClock.now.advanced(by: limit)
        var findings = findings
        var checks: [DiagnosticCheck] = []
        var isCacheSilent = false
        for step in steps {
            guard !(isCacheSilent || findings.isCacheLost) || !Self.cacheReaders.contains(step.name) else {
                checks.append(DiagnosticCheck(step.name, .skipped, "the credential cache does not answer."))
                continue
            }
            let left = min(step.limit.patient, ContinuousClock.now.duration(to: end))
            guard left > .zero else {
                checks.append(DiagnosticCheck(step.name, .skipped, "the earlier checks used all of the time."))
                continue
            }
            let known = findings
            let result = await firstResult(within: left) {
                var findings = known
                let checks = await step.look(&findings)
                return (checks, findings)
            }
            if let (found, after) = result {
                checks += found
                findings = after
            } else {
                if step.name == "cache" { isCacheSilent = true }
                let detail = "this check did not finish within \(left.components.seconds) seconds."
                checks.append(DiagnosticCheck(step.name, .failed, detail, remedy: step.hangingRemedy?(findings)))
            }
        }
        return checks
    }
}

/// Returns the value of some work, or nil if it exceeds the limit. Work that cannot be canceled continues in the background.
func firstResult<Value: Sendable>(within limit: Duration, _ work: @escaping @Sendable () async -> Value) async -> Value? {
    let (results, continuation) = AsyncStream.makeStream(of: Value?.self, bufferingPolicy: .bufferingOldest(1))
    let worker = Task { continuation.yield(await work()) }
    let timer = Task {
        try await Task.sleep(for: limit)
        continuation.yield(nil)
    }
    defer {
        worker.cancel()
        timer.cancel()
    }
    for await result in results { return result }
    return nil
}
