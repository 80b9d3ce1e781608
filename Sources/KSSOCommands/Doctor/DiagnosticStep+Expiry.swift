internal import Foundation
internal import HTTPNegotiate
internal import KerberosEngine
internal import KerberosSSO

extension DiagnosticStep {
    /// When ticket and password end.
    static let expiry = DiagnosticStep.check("expiry") { findings in
        guard let session = findings.session else { return .skipped("nobody is signed in.") }
        let rules = findings.sso.kerberos.passwordRules(for: session.realm)
        let (now, end) = (Date(), session.ticketExpires.addingTimeInterval(-session.clockOffset))
        let renewal = session.renewUntil.map { ", and can be renewed until \(Console.text($0))" } ?? ", and can't be renewed"
        let text = "the ticket holds until \(Console.text(end))\(renewal). \(password(session, now))"
        let isTicketDoubtful = end.timeIntervalSince(now) < 600
        let isPasswordDoubtful = session.passwordExpires.map { rules.givesNotices && $0 <= now || rules.isNoticeDue(expires: $0, now: now) }
        guard isTicketDoubtful || isPasswordDoubtful == true else { return .ok(text) }
        let remedies = [
            isTicketDoubtful ? "Get another ticket: ksso refresh, or ksso login --force" : nil,
            isPasswordDoubtful == true ? session.passwordAdvice(rules) : nil,
        ].compactMap(\.self)
        return .warning(text, remedy: remedies.isEmpty ? nil : remedies.joined(separator: "\n    "))
    }

    /// What nobody has said is not known, which is not the same as over.
    private static func password(_ session: Session, _ now: Date) -> String {
        guard let expires = session.passwordExpires else { return "When the password expires is not known." }
        return "The password \(expires > now ? "expires" : "expired") on \(Console.text(expires))."
    }
}
