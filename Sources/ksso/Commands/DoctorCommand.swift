internal import ArgumentParser
internal import CommandSupport
internal import ExtensionProfile
internal import Foundation
internal import HTTPNegotiate
internal import KerberosSSO
internal import SSOAgentClient

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

    @Argument(help: ArgumentHelp("The URL of a page, or a realm; by default the default realm.", valueName: "url|realm"))
    var target: String?
    @Option(
        help: ArgumentHelp(
            "Compare the server's keytab with the KDC's key; by default the keytab of KRB5_KTNAME or krb5.conf.",
            valueName: "file"
        )
    )
    var keytab: String?
    @Flag(help: "Print one JSON document.")
    var json = false
    @Option(help: ArgumentHelp("Multiply the time limits by this number.", visibility: .hidden))
    var patience = 1.0
    @OptionGroup var trust: TrustOptions
    @OptionGroup var common: CommonOptions

    func run() async throws { try await Patience.$factor.withValue(patience) { try await diagnose() } }

    private func diagnose() async throws {
        let environment = ProcessInfo.processInfo.environment
        let url = try target.flatMap { try $0.contains("://") ? checkedURL($0) : nil }
        let tls = try trust.tls(environment: environment)
        let start = ContinuousClock.now
        let search = ProfileSearch(explicitPaths: common.profile, environment: environment)
        // A home on a server that is away, or the check of a signature, may hang.
        let found = await firstResult(within: Duration.seconds(4).patient) {
            await Result { () async throws(ProfileError) in try await search.runAside() }
        }
        var checks: [DiagnosticCheck]
        var profiles: [Profile] = []
        switch found {
        case .success(let result): (checks, profiles) = (DiagnosticCheck.profiles(result), result.profiles)
        case .failure(let error): checks = [.profile(error)]
        case nil: checks = [.silentProfiles]
        }
        // An agent that binds a lost socket again is waited for; one that does not is a check's business.
        _ = await firstResult(within: .seconds(4)) { try? await RuntimeDirectory(environment: environment).findCacheSocket() }
        let sso = try await common.open(profiles)
        var findings = DiagnosticFindings(sso: sso, url: url, keytab: keytab, environment: environment)
        findings.tls = tls
        if url == nil, let target {
            // The caches may be slow to answer; what keeps them is a check's business.
            let known = await firstResult(within: Duration.seconds(2).patient) { [sso] in await sso.kerberos.knownRealm(target) }
            findings.realm = known ?? target
        }
        checks += await Doctor(limit: Doctor.limit.patient - start.duration(to: .now)).checks(findings)
        let diagnosis = Diagnosis(checks)
        if json { try Console.printJSON(diagnosis) } else { DiagnosisReport(diagnosis).show() }
        if !diagnosis.isHealthy { throw CommandFailure(.failed) }
    }
}

extension Result {
    fileprivate init(_ work: () async throws(Failure) -> Success) async {
        do throws(Failure) { self = .success(try await work()) } catch { self = .failure(error) }
    }
}
