internal import Kerberos
package import SignOnPolicy

/// What the profiles permit at a sign-in, and with what a person signs in.
struct SignInPermissions: Sendable {
    /// The profiles.
    let policy: DecisionPolicy
    /// The clients of the realms, which read certificates from krb5.conf.
    let clients: RealmClients

    /// The source of a person's sign-in to a realm. It is the certificate if one is configured and the profile prefers certificates or
    /// allows no passwords; otherwise the prompter answers what libkrb5 asks.
    func interactiveSource(realm: String, prompter: any Prompter) async throws(KerberosError) -> InitialCredentialSource {
        let rules = policy.signInRules(of: realm)
        guard rules.allowsCertificate, rules.prefersCertificate || !rules.allowsPassword else { return .prompter(prompter) }
        guard try await certificate(of: realm) != nil else { return .prompter(prompter) }
        return .certificate(nil, prompter)
    }

    /// Returns the source as the profile allows it.
    ///
    /// - Throws: `KerberosError`; `policyRefused` if the profile of the realm does not allow this kind of sign-in; `certificateRefused` if
    ///   no certificate is configured.
    func permitted(_ source: InitialCredentialSource, realm: String) async throws(KerberosError) -> InitialCredentialSource {
        try await source.kind.permitted(source, in: realm, by: self)
    }

    /// Whether the profiles of a realm allow stored passwords. Each of them must allow both automatic login and passwords.
    func allowsStoredSecrets(of realm: String) -> Bool {
        let rules = policy.signInRules(of: realm)
        return rules.allowsAutomaticLogin && rules.allowsPassword
    }
}

extension DecisionPolicy {
    /// The combined sign-in rules of a realm's profiles.
    package func signInRules(of realm: String) -> SignInRules {
        SignInRules(combining: configurations.filter { $0.realm == realm }.map(\.signIn))
    }
}

extension KerberosError {
    /// A profile does not allow a kind of sign-in.
    static func forbidden(_ key: String, in realm: String, _ advice: String) -> KerberosError {
        KerberosError(.policyRefused, subject: realm, message: "the profile of the realm sets \(key) to false. \(advice)")
    }
}
