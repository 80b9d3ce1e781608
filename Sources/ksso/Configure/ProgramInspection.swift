internal import CommandSupport
internal import SignOnDiagnosis
internal import SignOnPolicy

/// The settings of the installed programs that make their own tokens, for the doctor.
enum ProgramInspection {
    /// Returns a report for each installed program of a kind.
    ///
    /// - Parameter configurations: The configurations of the active profiles.
    static func reports(
        on kind: ProgramReport.Kind,
        for origin: Origin,
        _ configurations: [ExtensionConfiguration],
        environment: [String: String]
    ) async -> [ProgramReport] {
        let context = SettingsContext(environment: environment, configurations: configurations, isMachine: false)
        let programs: [any SignOnSettings] =
            switch kind {
            case .browser: ChromiumSettings.each(context) as [any SignOnSettings] + [FirefoxSettings(context)]
            case .git: [GitSettings(context)]
            }
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
    fileprivate var sentence: String { text.hasSuffix(".") ? text : "\(text)." }
}
