internal import ExtensionProfile
internal import Foundation
internal import Kerberos
internal import KerberosEngine
internal import KerberosSSO
internal import SSOAgentClient
internal import SignOnPolicy

extension DiagnosticCheck {
    /// Returns the checks of the profiles that were found.
    ///
    /// - Parameter isRequired: Whether a host is to be answered, which requires a profile.
    static func profiles(_ found: ProfileSearchResult, isRequired: Bool) -> [DiagnosticCheck] {
        var checks = found.warnings.map { warning in
            let check = "To check all its keys: ksso profile check \(warning.source)"
            return switch warning.code {
            case .severalDefaultRealms: DiagnosticCheck("profile", .warning, warning.message, remedy: "Fix the file. \(check)")
            case .untrustedSigner:
                DiagnosticCheck(
                    "profile",
                    .warning,
                    warning.message,
                    remedy: "The profile is used. If this machine should trust its signer, the administrator lists the certificate under "
                        + "ProfileAnchors in /etc/ksso/policy.yaml."
                )
            case .rejected where warning.error?.code == .repeatedHost:
                DiagnosticCheck(
                    "profile",
                    .failed,
                    warning.message,
                    remedy: "Remove the profile that you do not need, such as: ksso profile remove "
                        + (warning.source.split(separator: "/").last.map(String.init) ?? warning.source)
                )
            // A misspelled key has no effect, so it is a failure.
            default: DiagnosticCheck("profile", .failed, warning.message, remedy: "Fix the file. \(check)")
            }
        }
        for profile in found.profiles {
            for warning in profile.configurations.flatMap(\.warnings) {
                let remedy = "Correct the file, then check it: ksso profile check \(profile.source)"
                checks.append(DiagnosticCheck("profile", .warning, "\(profile.source): \(warning)", remedy: remedy))
            }
        }
        if !found.profiles.isEmpty {
            checks.append(DiagnosticCheck("profile", .ok, "active: \(found.profiles.map(\.source).joined(separator: ", "))."))
        } else if checks.isEmpty {
            checks.append(
                DiagnosticCheck(
                    "profile",
                    isRequired ? .failed : .warning,
                    "no profile is installed, so no host is answered.",
                    remedy: "Install the organization's profile: ksso setup FILE"
                )
            )
        }
        return checks
    }

    /// The check if the profiles were not read in time.
    static let silentProfiles = DiagnosticCheck(
        "profile",
        .failed,
        "the profiles could not be read in time: a disk or a signature check does not respond.",
        remedy: "Check that the folders can be listed: ls /etc/ksso ~/.config/ksso"
    )

    /// The check if an explicitly named profile cannot be used.
    static func profile(_ error: ProfileError) -> DiagnosticCheck {
        DiagnosticCheck(
            "profile",
            .failed,
            error.message,
            remedy: "Fix the file. To check all its keys: ksso profile check \(error.source)"
        )
    }
}

extension DiagnosticStep {
    /// Checks krb5.conf and the default realm, which it or the profile sets.
    static let configuration = DiagnosticStep.check("configuration") { findings in
        let files = RuntimeDirectory.systemConfigurationFiles(environment: findings.subject.environment)
        if let file = files.first(where: { access($0, F_OK) == 0 && access($0, R_OK) != 0 }) {
            return .failed("\(file) is not readable by this user.", remedy: "Make it readable: chmod a+r \(file)")
        }
        let present = files.filter { access($0, R_OK) == 0 }
        var credential: Principal?
        do throws(KerberosError) {
            // This reads krb5.conf for the first time, with every file that it includes.
            _ = try await findings.sso.inspection.cacheClient.defaultRealm()
            let standard = try await findings.sso.names.defaultRealm()
            if findings.realm == nil {
                findings.realm = standard
                credential = await findings.followDefaultCredential()
            }
        } catch {
            return .failed(error.description, remedy: "Fix the file; kinit and curl fail because of it too.")
        }
        // Without a default realm, a host of a profile still has one.
        if findings.realm == nil, let url = findings.subject.url, case .answer(let plan) = findings.sso.decision(for: url) {
            findings.realm = plan.realm
        }
        let names = present.isEmpty ? "there is no krb5.conf, and none is required" : "\(present.joined(separator: ", ")): readable"
        guard let realm = findings.realm else {
            guard !findings.sso.profiles.isEmpty else {
                return .failed(
                    "no realm is known: neither a profile nor krb5.conf sets a default realm.",
                    remedy: "Install the organization's profile, or specify the realm: ksso doctor EXAMPLE.COM"
                )
            }
            return .failed(
                "no default realm is known: the profiles name several realms, and none has isDefaultRealm.",
                remedy: "Set isDefaultRealm: true in one of them, or default_realm in krb5.conf; or specify the realm: "
                    + "ksso doctor EXAMPLE.COM"
            )
        }
        return .ok("\(names); the realm is \(realm)\(credential.map { ", that of the default credential \($0)" } ?? "").")
    }

    /// The proxy of a profile at the host and port of a URL.
    private static func proxy(at url: URL, _ configurations: [ExtensionConfiguration]) -> ProxyAddress? {
        guard let origin = try? Origin(url: url) else { return nil }
        return configurations.flatMap(\.proxyServers).first { $0.host == origin.host && $0.port == origin.port }
    }

    /// Checks whether a rule covers the host.
    static let host = DiagnosticStep.check("host") { findings in
        guard let url = findings.subject.url else { return .nothing }
        guard !findings.sso.profiles.isEmpty else { return .skipped("no profile is active.") }
        if let proxy = proxy(at: url, findings.sso.policy.configurations) {
            return .failed(
                "\(proxy) is a proxy of the profile (ProxyServers), not a web server.",
                remedy: "To see whether it gets a ticket: ksso explain --proxy \(proxy)\n    To see how it answers: ksso proxy status"
            )
        }
        switch findings.sso.decision(for: url) {
        case .answer(let plan):
            findings.server.plan = plan
            findings.realm = plan.realm
            let rule = "\(plan.origin.host) is covered by “\(plan.hostRule)” of \(plan.configuration.source), in \(plan.realm)"
            guard let credential = await findings.followDefaultCredential() else { return .ok("\(rule).") }
            return .ok("\(rule); the default credential \(credential) answers (credentialUseMode: kerberosDefault).")
        case .ignore(let reasons):
            let reason = reasons.last { $0.verdict == .failed }
            let fix =
                switch reason?.rule {
                case "scheme": "Use https; or add the host to PlainHTTPHosts of the profile. "
                case "hostRule": ""  // the reason says it
                default: "Use the URL of a page that the profile covers. "
                }
            let realm = findings.subject.realm.map { "\n    If a realm is meant, write it in upper case: ksso doctor \($0.uppercased())" }
            return .failed(
                "\(url.host() ?? "the host") is not answered: \(reason?.detail ?? "no rule covers it.")",
                remedy: "\(fix)To see every rule that was considered: ksso explain \(ExplanationDocument.withoutUser(url.absoluteString))"
                    + (realm ?? "")
            )
        }
    }
}
