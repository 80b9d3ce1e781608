internal import CommandSupport
internal import SignOnDiagnosis
internal import SignOnPolicy

/// The settings of the installed programs, for the doctor.
enum ProgramInspection {
    /// Returns a report for each installed program of a kind.
    ///
    /// - Parameter configurations: The configurations of the active profiles.
    static func reports(
        on kind: ProgramReport.Kind,
        _ configurations: [ExtensionConfiguration],
        environment: [String: String]
    ) async -> [ProgramReport] {
        let context = SettingsContext(environment: environment, configurations: configurations, isMachine: false)
        switch kind {
        case .browser(let origin):
            return await reports(on: ChromiumSettings.each(context) as [any SignOnSettings] + [FirefoxSettings(context)], for: origin)
        case .git(let origin): return await reports(on: [GitSettings(context)], for: origin)
        case .proxyClient: return await ProxyClientInspection.reports(configurations, environment: environment)
        }
    }

    private static func reports(on programs: [any SignOnSettings], for origin: Origin) async -> [ProgramReport] {
        var reports: [ProgramReport] = []
        for program in programs where program.isInstalled {
            var findings = await program.contradictions()
            if let refusal = await program.refusal(of: origin) { findings.insert(refusal, at: 0) }
            reports.append(ProgramReport(name: program.name, faults: findings.map { .init($0.sentence, remedy: $0.remedy) }))
        }
        return reports
    }
}

extension SettingsFinding {
    /// The text with a full stop.
    var sentence: String { text.hasSuffix(".") ? text : "\(text)." }
}
