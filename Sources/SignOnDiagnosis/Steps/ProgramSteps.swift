internal import KerberosEngine
internal import KerberosSSO
internal import SignOnPolicy

extension DiagnosticStep {
    /// Checks whether the browsers on this machine would send a ticket to the host.
    static let browsers = program("browser", kind: .browser, absence: "no browser is installed here.")

    /// Checks whether git would send a ticket to the host.
    static let git = program("git", kind: .git, absence: "git is not installed here.")

    /// Never fails, because the user may use other programs.
    private static func program(_ name: String, kind: ProgramReport.Kind, absence: String) -> DiagnosticStep {
        check(name) { findings in
            guard let plan = findings.server.plan, let inspect = findings.subject.inspectPrograms else { return .nothing }
            let reports = await inspect(kind, plan.origin, findings.sso.kerberos.policy.configurations)
            guard !reports.isEmpty else { return .skipped(absence) }
            func label(_ programs: String) -> String { programs == name ? "" : "\(programs): " }
            let faults = reports.flatMap { report in report.faults.map { (text: label(report.name) + $0.text, remedy: $0.remedy) } }
            guard !faults.isEmpty else { return .ok("\(label(reports.map(\.name).joined(separator: ", ")))the settings allow the host.") }
            var remedies: [String] = []
            for remedy in faults.compactMap(\.remedy) where !remedies.contains(remedy) { remedies.append(remedy) }
            return .warning(
                faults.map(\.text).joined(separator: " "),
                remedy: remedies.isEmpty ? nil : remedies.joined(separator: "\n    ")
            )
        }
    }
}
