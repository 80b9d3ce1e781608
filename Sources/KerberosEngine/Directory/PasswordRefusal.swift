internal import ActiveDirectory
internal import Kerberos
internal import SignOnPolicy
internal import SystemSupport

internal import struct Foundation.Date

extension AccountReadings {
    /// How long a refused password change waits for the rules of the domain.
    private static let limit = Duration.seconds(3)

    /// The refusal of a new password with the rules of the domain, if a session of the principal can read them in its directory.
    func explaining(_ refusal: KerberosError, of principal: Principal) async -> KerberosError {
        guard let session = try? await store.read().sessions(of: principal).first(where: \.isSignedIn) else { return refusal }
        let record = await firstResult(within: Self.limit, cancelsLateWork: false) { try? await self.read(session) }
        guard let record, let record, let rules = record.passwordRules else { return refusal }
        let sentences = rules.sentences(of: principal.realm, changed: record.account.passwordChanged, now: options.clock())
        return sentences.isEmpty ? refusal : refusal.saying("\(refusal.message) \(sentences.joined(separator: " "))")
    }
}

extension DomainPasswordRules {
    /// What a new password requires, in sentences.
    ///
    /// - Parameter changed: When the password was last changed, for the minimum age.
    func sentences(of realm: String, changed: Date?, now: Date) -> [String] {
        var sentences: [String] = []
        if let minimumAge, minimumAge > 0, let earliest = changed?.addingTimeInterval(minimumAge), earliest > now {
            sentences.append("It was changed recently, and can be changed again after \(earliest.localText).")
        }
        var parts: [String] = []
        if let minimumLength, minimumLength > 0 { parts.append("at least \(quantity(minimumLength, "character"))") }
        if requiresComplexity == true {
            parts.append("three of: uppercase letters, lowercase letters, digits, other characters, letters of scripts without case")
            parts.append("no part of your name")
        }
        if let history, history > 0 { parts.append("none of the last \(quantity(history, "password"))") }
        if !parts.isEmpty { sentences.append("The domain \(realm) requires \(parts.joined(separator: "; ")).") }
        return sentences
    }
}
