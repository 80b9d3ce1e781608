internal import CommandSupport
internal import SignOnDiagnosis
internal import SystemSupport

/// A diagnosis in readable form: a line for each layer, its remedy below it, and a summary at the end.
struct DiagnosisReport {
    let diagnosis: Diagnosis

    init(_ diagnosis: Diagnosis) { self.diagnosis = diagnosis }

    func show() {
        for line in lines {
            // The line of a check begins with its mark.
            let verdict = diagnosis.checks.map(\.verdict).first { line.hasPrefix("\($0.mark) ") }
            Console.print(line, highlighting: verdict?.mark ?? "", in: verdict?.color)
        }
    }

    var lines: [String] {
        var lines: [String] = []
        for check in diagnosis.checks {
            lines.append("\(check.verdict.mark) \(check.name): \(check.detail)")
            lines += check.remedyLines.map { "    \($0)" }
        }
        return lines + [summary]
    }

    private var summary: String {
        if let cause = diagnosis.firstFailure { return "The check \(cause.name) failed: \(cause.detail)" }
        let warnings = diagnosis.checks.count { $0.verdict == .warning }
        return warnings == 0
            ? "All checks passed." : "No check failed, with \(quantity(warnings, "warning"))."
    }
}

extension DiagnosticCheck {
    /// The remedy, one line for each action.
    var remedyLines: [String] {
        (remedy ?? "").split(separator: "\n").map { String($0.drop { $0 == " " }) }
    }
}

extension DiagnosticCheck.Verdict {
    fileprivate var color: Console.Color? {
        switch self {
        case .ok: .green
        case .warning: .yellow
        case .failed: .red
        case .skipped: nil
        }
    }

    fileprivate var mark: String {
        switch self {
        case .ok: "✓"
        case .warning: "!"
        case .failed: "✗"
        case .skipped: "-"
        }
    }
}
