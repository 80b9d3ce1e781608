internal import Foundation
internal import HTTPNegotiate
internal import KerberosEngine

extension Session {
    /// What is to be said of a password that expires soon; nil where it is not time to.
    func passwordNotice(_ rules: PasswordRules, now: Date = Date()) -> String? {
        guard let passwordExpires, rules.isNoticeDue(expires: passwordExpires, now: now) else { return nil }
        let days = Int(passwordExpires.timeIntervalSince(now) / 86_400)
        let left = days == 0 ? "in less than a day" : "in \(days) day\(days == 1 ? "" : "s")"
        let advice = passwordAdvice(rules).map { " \($0)" } ?? ""
        return "the password expires \(left), on \(Console.text(passwordExpires)).\(advice)"
    }

    /// Where the password is changed; nil where the profile does not let the user change it.
    func passwordAdvice(_ rules: PasswordRules) -> String? {
        if let url = rules.changeURL { return "Change it at: \(url)" }
        return rules.isChangeAllowed ? "Change it with: ksso passwd \(principal)" : nil
    }
}
