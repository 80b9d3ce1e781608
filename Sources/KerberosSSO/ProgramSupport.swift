package import Kerberos
package import KerberosEngine
package import SignOnPolicy

/// Calls for the programs of this package that are not public.
extension SingleSignOn {
    /// Decides which hosts are answered.
    package var policy: DecisionPolicy { engine.policy }

    /// Finds the principals and the realms that names mean.
    package var names: PrincipalNames { engine.names }

    /// What the engine uses, for diagnosis.
    package var inspection: EngineInspection { engine.inspection }

    /// Creates the engine alone, for an agent.
    package static func engine(_ source: Source, settings: Settings) async throws -> KerberosExtension {
        try await SingleSignOn(source, settings: settings).engine
    }

    /// Signs in unless there is a sufficient session. Reads the credential caches once. See
    /// `KerberosExtension/signIn(_:realm:keytab:unless:validFor:options:cache:using:)`.
    package func signIn(
        _ name: String?,
        realm: String?,
        keytab: InitialCredentialSource?,
        unless sufficient: SufficientSession,
        validFor validity: Duration?,
        options: InitialCredentialOptions,
        cache: CredentialCacheName?,
        using source: (Principal) async throws -> InitialCredentialSource
    ) async throws -> ValidSession {
        try await engine.signIn(
            name,
            realm: realm,
            keytab: keytab,
            unless: sufficient,
            validFor: validity,
            options: options,
            cache: cache,
            using: source
        )
    }

    /// The source of a person's sign-in to a realm. It is the certificate if one is configured and the profile prefers certificates or
    /// allows no passwords; otherwise the prompter answers what libkrb5 asks.
    package func interactiveSource(realm: String?, prompter: any Prompter) async throws(KerberosError) -> InitialCredentialSource {
        try await engine.interactiveSource(realm: realm, prompter: prompter)
    }

    /// The options of a sign-in whose ticket must be valid for some time, if the caller requires it.
    package func signInOptions(
        _ options: InitialCredentialOptions,
        in realm: String,
        validFor validity: Duration?
    ) async -> InitialCredentialOptions {
        await engine.signInOptions(options, in: realm, validFor: validity)
    }

    /// Checks that a principal's password may be stored, so that the caller can check before it prompts.
    ///
    /// - Throws: `KerberosError`; `policyRefused` if the profile of the realm does not allow it.
    package func checkRemembering(of principal: Principal) async throws(KerberosError) {
        try await engine.checkRemembering(of: principal)
    }

    /// Returns the principal whose password would be changed, so that the caller can check before it prompts.
    ///
    /// - Throws: `KerberosError`; `policyRefused` if the profile does not allow password changes here, `passwordRefused` if it does not
    ///   allow one yet.
    package func checkPasswordChange(of name: String?, realm: String?) async throws(KerberosError) -> Principal {
        try await engine.checkPasswordChange(of: name, realm: realm)
    }
}
