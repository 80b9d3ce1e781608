internal import KerberosEngine
internal import KerberosSSO
internal import SignOnPolicy

extension DiagnosticStep {
    /// Checks whether the browsers on this machine would send a ticket to the host.
    static let browsers = signOn("browser", ProgramReport.Kind.browser, absence: "no browser is installed here.")

    /// Checks whether git would send a ticket to the host.
    static let git = signOn("git", ProgramReport.Kind.git, absence: "git is not installed here.")

    /// Never fails, because the user may use other programs.
    private static func signOn(
        _ name: String,
        _ kind: @escaping @Sendable (Origin) -> ProgramReport.Kind,
        absence: String
    ) -> DiagnosticStep {
        check(name) { findings in
            guard let plan = findings.server.plan, let inspect = findings.subject.inspectPrograms else { return .nothing }
            let reports = await inspect(kind(plan.origin), findings.sso.policy.configurations)
            return reports.isEmpty ? .skipped(absence) : finding(reports, name: name, "the settings allow the host.")
        }
    }

    /// Checks whether the local proxy is running that the settings of programs name, whatever the host is.
    static let proxyClients = check("proxy", limit: .seconds(6)) { findings in
        guard let inspect = findings.subject.inspectPrograms else { return .nothing }
        let reports = await inspect(.proxyClient, findings.sso.policy.configurations)
        if reports.isEmpty, findings.subject.url == nil { return .nothing }
        return reports.isEmpty
            ? .skipped("no settings of ksso name a local proxy.")
            : finding(reports, name: "proxy", "the local proxy of the settings is running.")
    }

    /// Combines the reports of programs. A program with the name of the check is not named again.
    private static func finding(_ reports: [ProgramReport], name: String, _ good: String) -> Finding {
        func label(_ programs: String) -> String { programs == name ? "" : "\(programs): " }
        let faults = reports.flatMap { report in report.faults.map { (text: label(report.name) + $0.text, remedy: $0.remedy) } }
        guard !faults.isEmpty else { return .ok(label(reports.map(\.name).joined(separator: ", ")) + good) }
        var remedies: [String] = []
        for remedy in faults.compactMap(\.remedy) where !remedies.contains(remedy) { remedies.append(remedy) }
        return .warning(
            faults.map(\.text).joined(separator: " "),
            remedy: remedies.isEmpty ? nil : remedies.joined(separator: "\n    ")
        )
    }
}
