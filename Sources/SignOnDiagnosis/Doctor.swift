package import ExtensionProfile
package import Foundation
internal import Kerberos
package import KerberosSSO
package import NIOSSL
internal import SSOAgentClient
internal import SystemSupport

/// Checks the layers in order, within a total time limit.
package struct Doctor {
    /// What a diagnosis is about.
    package struct Subject: Sendable {
        /// The page whose server is checked; nil checks a realm only.
        package var url: URL?
        /// The realm to check without a URL, in any spelling; nil means the default realm.
        package var realm: String?
        /// The keytab to compare with the KDC's key; nil means that of KRB5_KTNAME or krb5.conf.
        package var keytab: String?
        /// The TLS configuration for the URL's server; nil means that the system's authorities are trusted.
        package var tls: TLSConfiguration?
        /// The environment at the start of the process.
        package var environment: [String: String]
        /// Whether the process runs in a realm of `ksso realm run`, for which no home is configured.
        package var isInTestRealm: Bool

        /// Creates a subject that checks the default realm.
        package init(environment: [String: String], isInTestRealm: Bool = false) {
            self.environment = environment
            self.isInTestRealm = isInTestRealm
        }
    }

    /// Checks every layer from the profile to the server's response. It never prompts, and does not change the user's tickets.
    ///
    /// - Parameters:
    ///   - search: Where the profiles are.
    ///   - patience: The factor by which the time limits are multiplied.
    ///   - open: Creates the engine for the profiles that were found. Its errors are rethrown.
    package static func diagnose(
        _ subject: Subject,
        search: ProfileSearch,
        patience: Double = 1,
        open: ([Profile]) async throws -> SingleSignOn
    ) async throws -> Diagnosis {
        try await Patience.$factor.withValue(patience) {
            let start = ContinuousClock.now
            let (profileChecks, profiles) = await profiles(search, isRequired: subject.url != nil)
            // An agent that is binding a lost socket again is waited for; one that is not is reported by the check of the cache.
            _ = await firstResult(within: .seconds(4)) {
                try? await RuntimeDirectory(environment: subject.environment).findCacheSocket()
            }
            let findings = await DiagnosticFindings(subject, try open(profiles))
            let remaining = Doctor(limit: limit.patient - start.duration(to: .now))
            return Diagnosis(profileChecks + (await remaining.checks(findings)))
        }
    }

    /// Reads the profiles. A home on a server that does not respond, or the check of a signature, may hang.
    private static func profiles(_ search: ProfileSearch, isRequired: Bool) async -> ([DiagnosticCheck], [Profile]) {
        let found = await firstResult(within: Duration.seconds(4).patient) {
            await Result { () async throws(ProfileError) in try await search.runAside() }
        }
        return switch found {
        case .success(let result): (DiagnosticCheck.profiles(result, isRequired: isRequired), result.profiles)
        case .failure(let error): ([.profile(error)], [])
        case nil: ([.silentProfiles], [])
        }
    }

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
            guard !(isCacheSilent || findings.tickets.isCacheLost) || !Self.cacheReaders.contains(step.name) else {
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

extension Result {
    fileprivate init(_ work: () async throws(Failure) -> Success) async {
        do throws(Failure) { self = .success(try await work()) } catch { self = .failure(error) }
    }
}
