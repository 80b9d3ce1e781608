internal import ActiveDirectory
internal import Kerberos
internal import SignOnPolicy
internal import SystemSupport

internal import struct Foundation.Date

extension AccountReadings {
    /// How long a refused password change waits for the rules of the domain.
    private static let limit = Duration.seconds(3)

    /// The refusal of a new password with the rules of the domain, if a session of the principal can read them in its
    /// directory. The rules that the password violates come first, because a controller does not say which they are.
    func explaining(_ refusal: KerberosError, of principal: Principal, to new: Secret) async -> KerberosError {
        guard let session = try? await store.read().sessions(of: principal).first(where: \.isSignedIn) else { return refusal }
        let record = await firstResult(within: Self.limit.patient, cancelsLateWork: false) { try? await self.read(session) }
        guard let record, let record, let rules = record.passwordRules else { return refusal }
        var violations = unsafe new.withUnsafeBytes {
            unsafe rules.violations(of: $0, accountName: principal.components.joined(separator: "/"))
        }
        if let earliest = rules.earliestChange(after: record.account.passwordChanged), earliest > options.clock() {
            violations.append("It was changed recently, and can be changed again after \(earliest.localTextWithTimeLeft).")
        } else if violations.isEmpty, let history = rules.history, history > 0 {
            violations.append("It may be one of the last \(quantity(history, "password")).")
        }
        guard let requirements = rules.requirements(of: principal.realm) else { return refusal }
        // libkrb5 words the domain's numbers in another way, and does not know the rules of a settings object.
        return refusal.saying((["the domain refused the new password."] + violations + [requirements]).joined(separator: " "))
    }
}

extension DomainPasswordRules {
    /// The rules that a new password violates by itself, each in a sentence.
    func violations(of password: some Collection<UInt8>, accountName: String) -> [String] {
        var rules = PasswordRules()
        rules.minimumLength = minimumLength.flatMap { $0 > 0 ? $0 : nil }
        rules.requiresComplexity = requiresComplexity == true
        return rules.violations(of: password, accountName: accountName)
    }

    /// When the password can be changed again.
    func earliestChange(after changed: Date?) -> Date? {
        minimumAge.flatMap { $0 > 0 ? changed?.addingTimeInterval($0) : nil }
    }

    /// What a new password requires, in a sentence; nil if nothing.
    func requirements(of realm: String) -> String? {
        var parts: [String] = []
        if let minimumLength, minimumLength > 0 { parts.append("at least \(quantity(minimumLength, "character"))") }
        if requiresComplexity == true {
            parts.append("three of: uppercase letters, lowercase letters, digits, other characters, letters of scripts without case")
            parts.append("no part of your name")
        }
        if let history, history > 0 { parts.append("none of the last \(quantity(history, "password"))") }
        return parts.isEmpty ? nil : "The domain \(realm) requires \(parts.joined(separator: "; "))."
    }
}
