internal import Foundation
internal import HTTPNegotiate
internal import KerberosEngine
internal import KerberosSSO

extension DiagnosticStep {
    /// When ticket and password end.
    static let expiry = DiagnosticStep.check("expiry") { findings in
        guard let session = findings.session else { return .skipped("nobody is signed in.") }
        let rules = findings.sso.kerberos.passwordRules(for: session.realm)
        // The KDC gives times by its own clock. Here all are by this machine's, which people see.
        func local(_ date: Date) -> Date { date.addingTimeInterval(-session.clockOffset) }
        let (now, end, passwordEnd) = (Date(), local(session.ticketExpires), session.passwordExpires.map(local))
        let renewal = session.renewUntil.map { ", and can be renewed until \(Console.text(local($0)))" } ?? ", and can't be renewed"
        let text = "the ticket is valid until \(Console.text(end))\(renewal). \(password(passwordEnd, now))\(clock(session))"
        let isTicketDoubtful = end.timeIntervalSince(now) < 600
        let isPasswordDoubtful = passwordEnd.map { rules.givesNotices && $0 <= now || rules.isNoticeDue(expires: $0, now: now) }
        guard isTicketDoubtful || isPasswordDoubtful == true else { return .ok(text) }
        let remedies = [
            isTicketDoubtful ? "Get another ticket: ksso refresh, or ksso login --force" : nil,
            isPasswordDoubtful == true ? session.passwordAdvice(rules) : nil,
        ].compactMap(\.self)
        return .warning(text, remedy: remedies.isEmpty ? nil : remedies.joined(separator: "\n    "))
    }

    /// What nobody has said is not known, which is not the same as over.
    private static func password(_ expires: Date?, _ now: Date) -> String {
        guard let expires else { return "When the password expires is not known." }
        return "The password \(expires > now ? "expires" : "expired") on \(Console.text(expires))."
    }

    /// Whose clock the times are by, where it matters.
    private static func clock(_ session: Session) -> String {
        guard abs(session.clockOffset) >= 1 else { return "" }
        return " These times are by this machine's clock; the KDC's was \(clockText(session.clockOffset)) it when the ticket came."
    }
}
