internal import Foundation
internal import Kerberos
internal import KerberosEngine
internal import KerberosSSO
internal import SSOAgentClient
internal import SystemSupport

extension DiagnosticStep {
    /// Checks whether a principal of the realm is signed in.
    static let session = DiagnosticStep.check("session") { findings in
        guard let realm = findings.realm else { return .skipped("no realm is known.") }
        let list: SessionList
        let wanted: Principal?
        do throws(KerberosError) {
            list = try await findings.sso.sessions()
            let configuration = findings.configuration
            wanted =
                if configuration?.credentialUseMode == .kerberosDefault {
                    list.primary?.principal
                } else {
                    if let configuration, let name = configuration.principalName {
                        try await findings.sso.principal(name, realm: configuration.realm)
                    } else {
                        nil
                    }
                }
        } catch {
            return .failed(error.description)
        }
        let whom = wanted.map { "\($0) is" } ?? "no principal of \(realm) is"
        let isDefault = (try? await findings.sso.principal(nil))?.realm == realm
        let signIn = "Sign in: ksso login\(wanted.map { " \($0)" } ?? (isDefault ? "" : " --realm \(realm)"))"
        let kept = RuntimeDirectory(environment: findings.subject.environment).keptTickets
        let remedy = [kept?.note, signIn].compactMap(\.self).joined(separator: "\n    ")
        guard let session = list.session(of: wanted, orDefaultOf: realm) else {
            if let damage = list.damagedCaches.first { return .failed("\(damage)") }
            return .failed(wanted == nil ? "\(whom) signed in." : "\(whom) not signed in.", remedy: remedy)
        }
        guard session.isSignedIn else {
            return .failed(
                "the ticket of \(session.principal) expired at \(session.ticketExpires.localText) by this machine's clock.",
                remedy: remedy
            )
        }
        findings.tickets.session = session
        return .ok("\(session.principal) is signed in, in \(session.cache).")
    }
}

extension DiagnosticStep {
    /// Checks when the ticket and the password expire.
    static let expiry = DiagnosticStep.check("expiry") { findings in
        guard let session = findings.tickets.session else { return .skipped("no one is signed in.") }
        let rules = findings.sso.passwordRules(for: session.realm)
        let (now, end, passwordEnd) = (Date(), session.ticketExpires, session.passwordExpires)
        let renewal = session.renewUntil.map { ", and can be renewed until \($0.localTextWithTimeLeft)" } ?? ", and cannot be renewed"
        let text = "the ticket is valid until \(end.localTextWithTimeLeft)\(renewal). \(password(passwordEnd, now))\(clock(session))"
        let isTicketDoubtful = end.timeIntervalSince(now) < 600
        let isPasswordDoubtful = passwordEnd.map { rules.givesNotices && $0 <= now || rules.isNoticeDue(expires: $0, now: now) }
        guard isTicketDoubtful || isPasswordDoubtful == true else { return .ok(text) }
        let remedies = [
            isTicketDoubtful ? reacquisition(of: session) : nil,
            isPasswordDoubtful == true ? session.passwordAdvice(rules) : nil,
        ].compactMap(\.self)
        return .warning(text, remedy: remedies.isEmpty ? nil : remedies.joined(separator: "\n    "))
    }

    /// Says how to get a new ticket: only a person can, if the ticket is not renewable and no key signs in.
    private static func reacquisition(of session: Session) -> String {
        let needsPerson = session.renewUntil == nil && [.password, .other].contains(session.acquiredBy)
        return needsPerson
            ? "Sign in again: ksso login --force \(session.principal)"
            : "Reacquire the ticket: ksso refresh, or ksso login --force \(session.principal)"
    }

    /// Describes the password's expiry. An unknown date is reported as unknown, not as expired.
    private static func password(_ expires: Date?, _ now: Date) -> String {
        guard let expires else { return "The password's expiration date is unknown." }
        return "The password \(expires > now ? "expires" : "expired") on \(expires.localTextWithTimeLeft)."
    }

    /// Describes the clock that the times are by, if the clocks differ.
    private static func clock(_ session: Session) -> String {
        guard abs(session.clockOffset) >= 1 else { return "" }
        return " These times are by this machine's clock; "
            + "the KDC's clock was \(clockText(session.clockOffset)) it when the ticket was issued."
    }
}
