internal import Foundation
internal import HTTPNegotiate
internal import KerberosEngine

extension Session {
    /// What is to be said of a password that expires soon; nil where it is not time to.
    func passwordNotice(_ rules: PasswordRules, now: Date = Date()) -> String? {
        guard let passwordExpires, rules.isNoticeDue(expires: passwordExpires, now: now) else { return nil }
        let days = Int(passwordExpires.timeIntervalSince(now) / 86_400)
        let left = days == 0 ? "in less than a day" : "in \(days) day\(days == 1 ? "" : "s")"
        let remedy =
            if let url = rules.changeURL { " Change it at: \(url)" } else if rules.isChangeAllowed {
                " Change it with: ksso passwd \(principal)"
            } else { "" }
        return "the password expires \(left), on \(Console.text(passwordExpires)).\(remedy)"
    }
}
