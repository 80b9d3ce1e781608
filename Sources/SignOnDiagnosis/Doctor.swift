package import ExtensionProfile
package import Foundation
internal import Kerberos
package import KerberosSSO
package import NIOSSL
internal import SSOAgentClient
package import SignOnPolicy
internal import SystemSupport

/// Checks the layers in order, within a total time limit.
package struct Doctor {
    /// What a diagnosis is about.
    package struct Subject: Sendable {
        /// The page whose server is checked; nil checks a realm only.
        package var url: URL?
        /// The realm to check without a URL, in any spelling; nil means the default realm. With a URL, the name could also be that of its
        /// host: if the name is a known realm, the realm is checked, and otherwise the host.
        package var realm: String?
        /// The keytab to compare with the KDC's key; nil means that of KRB5_KTNAME or krb5.conf.
        package var keytab: String?
        /// The TLS configuration for the URL's server; nil means that the system's authorities are trusted.
        package var tls: TLSConfiguration?
        /// The environment at the start of the process.
        package var environment: [String: String]
        /// Whether the process runs in a realm of `ksso realm run`, for which no home is configured.
        package var isInTestRealm: Bool
        /// Whether the user's login sessions are configured to share the tickets, although this one may have begun before that.
        package var isSessionConfigured = false
        /// Reports on the installed programs of a kind, for the profiles' configurations; nil skips these checks.
        package var inspectPrograms: (@Sendable (ProgramReport.Kind, [ExtensionConfiguration]) async -> [ProgramReport])?

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
    ///   - open: Creates the engine for the profiles that were found. Its errors are rethrown.
    package static func diagnose(
        _ subject: Subject,
        search: ProfileSearch,
        open: ([Profile]) async throws -> SingleSignOn
    ) async throws -> Diagnosis {
        let start = ContinuousClock.now
        let found = await profiles(search)
        // An agent that is binding a lost socket again is waited for; one that is not is reported by the check of the cache.
        _ = await firstResult(within: Duration.seconds(4).patient) {
            try? await RuntimeDirectory(environment: subject.environment).findCacheSocket()
        }
        let sso = try await open((try? found?.get().profiles) ?? [])
        let decided = await subject.decided(by: sso)
        let findings = await DiagnosticFindings(decided, sso)
        let profileChecks = checks(found, isRequired: decided.url != nil)
        let remaining = Doctor(limit: limit.patient - start.duration(to: .now))
        return Diagnosis(profileChecks + (await remaining.checks(findings)))
    }

    /// Reads the profiles. A home on a server that does not respond, or the check of a signature, may hang.
    private static func profiles(_ search: ProfileSearch) async -> Result<ProfileSearchResult, ProfileError>? {
        await firstResult(within: Duration.seconds(4).patient) {
            await Result { () async throws(ProfileError) in try await search.load() }
        }
    }

    private static func checks(_ found: Result<ProfileSearchResult, ProfileError>?, isRequired: Bool) -> [DiagnosticCheck] {
        switch found {
        case .success(let result): DiagnosticCheck.profiles(result, isRequired: isRequired)
        case .failure(let error): [.profile(error)]
        case nil: [.silentProfiles]
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
                let detail = "this check did not finish within \(quantity(left.components.seconds, "second"))."
                checks.append(DiagnosticCheck(step.name, .failed, detail, remedy: step.hangingRemedy?(findings)))
            }
        }
        return checks
    }
}

extension Doctor.Subject {
    /// Decides whether a name that could be a host's or a realm's is checked as one or the other. A name that a rule covers is a host,
    /// unless it is spelled exactly as a known realm.
    fileprivate func decided(by sso: SingleSignOn) async -> Doctor.Subject {
        guard let url, let realm else { return self }
        let known = await firstResult(within: Duration.seconds(2).patient) { await sso.names.realmIfKnown(realm) } ?? nil
        guard let known, known == realm || sso.decision(for: url).plan == nil else { return self }
        var copy = self
        (copy.url, copy.realm) = (nil, known)
        return copy
    }
}

extension Result {
    fileprivate init(_ work: () async throws(Failure) -> Success) async {
        do throws(Failure) { self = .success(try await work()) } catch { self = .failure(error) }
    }
}
