internal import ArgumentParser
internal import CommandSupport
internal import ExtensionProfile
internal import Foundation
internal import SignOnDiagnosis
internal import SignOnPolicy
internal import SystemSupport

struct DoctorCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "doctor",
        abstract: "Check every layer, from the profile to the server's response, and print the first one that fails.",
        discussion: """
            It never prompts for a password, does not change your tickets, and finishes within 15 seconds even if servers do not answer. \
            It tries the certificate of the profile or krb5.conf, and stops before its PIN; for a smart card, it loads the card's module.
            The first failed check is the cause; later checks may fail for that reason alone.
            A name without a scheme is a realm if it is a known one or in upper case, and otherwise a host, which is checked over https.
            Exits with status 0 if no check fails, and with status 1 otherwise. A warning (!) is not a failure.

            EXAMPLES:
              ksso doctor
              ksso doctor https://intranet.corp.example/
              ksso doctor intranet.corp.example
              ksso doctor CORP.EXAMPLE
            """
    )

    @Argument(
        help: ArgumentHelp("The URL of a page, a host or a realm; by default the default realm.", valueName: "url|host|realm"),
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
    @OptionGroup var trust: TrustOptions
    @OptionGroup var common: CommonOptions

    func run() async throws {
        let environment = ProcessInfo.processInfo.environment
        var subject = Doctor.Subject(environment: environment, isInTestRealm: EnclosingRealm.isInside(environment))
        if let target { try subject.check(target) }
        // The user's systemd may not answer.
        let isConfigured = await firstResult(within: Duration.seconds(1).patient) { await SessionSetUp(environment: environment).hasLines }
        subject.isSessionConfigured = isConfigured ?? false
        subject.keytab = keytab
        subject.inspectPrograms = { await ProgramInspection.reports(on: $0, $1, environment: environment) }
        subject.tls = try trust.tls(environment: environment)
        let search = ProfileSearch(explicitPaths: common.profile, environment: environment)
        let diagnosis = try await Doctor.diagnose(subject, search: search) { try await common.engine.open($0) }
        if json { try Console.printJSON(diagnosis) } else { DiagnosisReport(diagnosis).show() }
        if !diagnosis.isHealthy { throw CommandFailure(.failed) }
    }
}

extension Doctor.Subject {
    /// Sets what to check: a URL, a host with or without a port and a path, or a realm.
    ///
    /// A realm is usually written in upper case. A name that could be a realm's or a host's sets both.
    fileprivate mutating func check(_ target: String) throws {
        guard !target.isEmpty else { throw CommandFailure(.usage, "the URL, host or realm is empty.") }
        guard !target.contains("://") else {
            url = try checkedURL(target)
            return
        }
        let host = target.prefix { !"/?#".contains($0) }
        // An X.500 realm such as C=US/O=Corp (RFC 4120 section 6.1).
        guard !host.contains("=") else {
            realm = target
            return
        }
        guard host == target, !host.contains(":") else {
            url = try checkedURL(secureURL(ofHost: target))
            return
        }
        if let sign = host.lastIndex(of: "@") {
            let meant = target[host.index(after: sign)...]
            throw CommandFailure(.usage, "\(target) is a principal. To check its realm, run: ksso doctor \(meant)")
        }
        realm = target
        let isInUpperCase = target.contains { $0.isUppercase } && !target.contains { $0.isLowercase }
        guard !isInUpperCase else { return }
        url = try? checkedURL(secureURL(ofHost: target))
    }
}
