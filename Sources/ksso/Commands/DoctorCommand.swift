internal import ArgumentParser
internal import CommandSupport
internal import ExtensionProfile
internal import Foundation
internal import SignOnDiagnosis

struct DoctorCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "doctor",
        abstract: "Check every layer, from the profile to the server's response, and print the first one that fails.",
        discussion: """
            It never prompts for a password, does not change your tickets, and finishes within 15 seconds even if servers do not answer. \
            The first failed check is the cause; later checks may fail for that reason alone.
            Exits with status 0 if no check fails, and with status 1 otherwise. A warning (!) is not a failure.

            EXAMPLES:
              ksso doctor
              ksso doctor https://intranet.corp.example/
            """
    )

    @Argument(
        help: ArgumentHelp("The URL of a page, or a realm; by default the default realm.", valueName: "url|realm"),
        completion: .pageOrRealm
    )
    var target: String?
    @Option(
        help: ArgumentHelp(
            "Compare the server's keytab with the KDC's key; by default the keytab of KRB5_KTNAME or krb5.conf.",
            valueName: "file"
        ),
        completion: .file()
    )
    var keytab: String?
    @Flag(help: "Print one JSON document.")
    var json = false
    @Option(help: ArgumentHelp("Multiply the time limits by this number.", visibility: .hidden))
    var patience = 1.0
    @OptionGroup var trust: TrustOptions
    @OptionGroup var common: CommonOptions

    func run() async throws {
        let environment = ProcessInfo.processInfo.environment
        var subject = Doctor.Subject(environment: environment, isInTestRealm: EnclosingRealm.isInside(environment))
        if let target, target.contains("://") { subject.url = try checkedURL(target) } else { subject.realm = target }
        subject.keytab = keytab
        subject.tls = try trust.tls(environment: environment)
        let search = ProfileSearch(explicitPaths: common.profile, environment: environment)
        let diagnosis = try await Doctor.diagnose(subject, search: search, patience: patience) { try await common.engine.open($0) }
        if json { try Console.printJSON(diagnosis) } else { DiagnosisReport(diagnosis).show() }
        if !diagnosis.isHealthy { throw CommandFailure(.failed) }
    }
}
