public import Kerberos
public import SignOnPolicy

extension KerberosExtension {
    /// Signs in a principal and stores its tickets in the shared credential cache, where every program finds them.
    ///
    /// The principal becomes the default of its realm. The tickets of other principals are kept: if the default cache can hold only one
    /// principal, a second one gets its own cache.
    ///
    /// - Parameters:
    ///   - name: The principal's name, with or without a realm; nil is ``defaultPrincipal(realm:)``.
    ///   - realm: The realm of a name without one; nil is ``defaultRealm()``.
    ///   - source: The password, the keytab, the certificate, or a prompter that answers libkrb5's questions and is asked for a new
    ///     password if the current one has expired. A profile may forbid passwords or certificates.
    ///   - options: The options of the request. If a profile of the realm allows delegation, a forwardable ticket is requested unless these
    ///     options say otherwise.
    ///   - cache: The cache for the tickets; nil selects one by the rule above.
    /// - Throws: `KerberosError`. A wrong password is sent once.
    @discardableResult
    public func signIn(
        _ name: String? = nil,
        realm: String? = nil,
        using source: InitialCredentialSource,
        options: InitialCredentialOptions = .init(),
        cache: CredentialCacheName? = nil
    ) async throws(KerberosError) -> Session {
        await offsets.follow(self.source)
        return try await signIns.signIn(name, realm: realm, using: source, options: options, cache: cache).session
    }

    /// Signs in with a key without a person's request. If another principal is signed in, it stays the default one.
    @discardableResult
    package func signInUnattended(_ name: String?, using source: InitialCredentialSource) async throws(KerberosError) -> Session {
        await offsets.follow(self.source)
        return try await signIns.signIn(name, using: source, isUnattended: true).session
    }

    /// Signs in, and stores the password (`Options/secretStore`) once the KDC has accepted it. When a ticket expires and cannot be renewed,
    /// the next one is acquired with the stored password, without a prompt.
    ///
    /// - Throws: `KerberosError`; `policyRefused`, before any prompt, if the profile of the realm does not allow stored passwords;
    ///   `secretStoreUnusable` if the password cannot be stored, in which case the principal is signed in nevertheless.
    @discardableResult
    public func signInRemembering(
        _ name: String? = nil,
        realm: String? = nil,
        using source: InitialCredentialSource,
        options: InitialCredentialOptions = .init(),
        cache: CredentialCacheName? = nil
    ) async throws(KerberosError) -> RememberedSignIn {
        await offsets.follow(self.source)
        return try await signIns.signInRemembering(name, realm: realm, using: source, options: options, cache: cache)
    }

    /// Checks that a principal's password may be stored, so that the caller can check before it prompts.
    ///
    /// - Throws: `KerberosError`; `policyRefused` if the profile of the realm does not allow it.
    package func checkRemembering(of principal: Principal) async throws(KerberosError) {
        try await signIns.storeForRemembering(principal)
    }

    /// Signs in a principal by prompting (`Options/prompter`). Concurrent callers share one prompt.
    ///
    /// - Parameters:
    ///   - name: The principal's name, with or without a realm; nil is ``defaultPrincipal(realm:)``.
    ///   - realm: The realm of a name without one; nil is ``defaultRealm()``.
    ///   - options: The options of the request; those of the first caller apply.
    /// - Throws: `KerberosError`; `notInteractive` if there is no prompter or another prompt is open for the principal; `canceled` if the
    ///   person cancels, or has canceled in the last five minutes.
    @discardableResult
    package func signInByAsking(
        _ name: String? = nil,
        realm: String? = nil,
        options: InitialCredentialOptions = .init()
    ) async throws(KerberosError) -> Session {
        await offsets.follow(source)
        return try await signIns.signInByAsking(name, realm: realm, options: options)
    }

    /// Signs in a principal with a source, and prompts for what its credential requires, such as a certificate's PIN, if there is a
    /// prompter. Concurrent callers with the same credential share one prompt.
    ///
    /// - Parameters:
    ///   - name: The principal's name, with or without a realm; nil is ``defaultPrincipal(realm:)``.
    ///   - realm: The realm of a name without one; nil is ``defaultRealm()``.
    ///   - given: The source; its own prompter is asked if there is no other.
    ///   - options: The options of the request; those of the first caller apply.
    /// - Throws: `KerberosError`; if a prompt is required, `notInteractive` if there is no prompter or another prompt is open for the
    ///   principal, `canceled` if the person cancels, or has canceled in the last five minutes.
    @discardableResult
    package func signInByAsking(
        _ name: String? = nil,
        realm: String? = nil,
        using given: InitialCredentialSource,
        options: InitialCredentialOptions = .init()
    ) async throws(KerberosError) -> Session {
        await offsets.follow(source)
        return try await signIns.signInByAsking(name, realm: realm, using: given, options: options)
    }

    /// Cancels the open prompts. Their callers get `canceled`.
    package func cancelPrompts() { signIns.prompts.cancelAll() }

    /// Shares the prompts with the extension that this one replaces: a principal has one open prompt, ``cancelPrompts()`` of either cancels
    /// all, and for a while, a principal whose prompt was canceled there gets none here.
    package func sharePrompts(with predecessor: KerberosExtension) { signIns.prompts.share(with: predecessor.signIns.prompts) }

    /// The source of a person's sign-in to a realm. It is the certificate if one is configured and the profile prefers certificates or
    /// allows no passwords; otherwise the prompter answers what libkrb5 asks.
    public func interactiveSource(
        realm: String?,
        prompter: any Prompter
    ) async throws(KerberosError) -> InitialCredentialSource {
        guard let realm = if let realm { realm } else { try await defaultRealm() } else { return .prompter(prompter) }
        return try await signIns.exchange.permissions.interactiveSource(realm: realm, prompter: prompter)
    }

    /// Checks that a client of the agent may sign in a principal with the credential that it names.
    ///
    /// - Throws: `KerberosError`; `certificateRefused` if the agent would run a file that the client names.
    package func check(_ given: InitialCredentialSource, of name: String?, realm: String?) async throws(KerberosError) {
        let principal = try await signIns.names.principal(orDefault: name, realm: realm)
        try await given.kind.checkNaming(in: principal.realm, by: signIns.exchange.permissions)
    }
}

extension KerberosExtension {
    /// The realm of names without one: the profiles' default realm, else krb5.conf's.
    public func defaultRealm() async throws(KerberosError) -> String? {
        try await signIns.names.defaultRealm()
    }

    /// The principal that signs in if none is named: the profile's principal for the realm, else the one that the user has stored, else the
    /// user's name.
    public func defaultPrincipal(realm: String?) async throws(KerberosError) -> Principal {
        try await signIns.names.defaultPrincipal(realm: realm)
    }

    /// The principal that signs in: the named one, else the first one of a keytab, else ``defaultPrincipal(realm:)``.
    package func principal(
        signingIn name: String?,
        realm: String?,
        using source: InitialCredentialSource?
    ) async throws(KerberosError) -> Principal {
        try await signIns.names.principal(signingIn: name, realm: realm, using: source)
    }

    /// The term for the user's name in a realm, from the realm's profile (`customUsernameLabel`); nil if there is none.
    package func userNameLabel(of realm: String) -> String? {
        policy.signInRules(of: realm).userNameLabel.flatMap { $0.isEmpty ? nil : $0 }
    }

    /// Returns the principal for a name as people write it. A name without a realm is in the given realm, else in the default realm. A
    /// realm that differs from a known one only in case is replaced by the known one.
    ///
    /// A name with a lower-case letter after the @, and with no such realm, is a user principal name of Active Directory, which the KDC of
    /// the given realm, else of the default realm, replaces at the sign-in. The realm of `DOMAIN\user` is the one of that Windows domain;
    /// to find it, controllers may be asked.
    ///
    /// - Throws: `KerberosError`; `malformedPrincipal` for a Windows domain that no known realm matches.
    public func principal(_ name: String, realm: String? = nil) async throws(KerberosError) -> Principal {
        try await signIns.names.principal(name, realm: realm)
    }

    /// Returns the known realm for a name that a person typed. Active Directory domains are written in any case, while Kerberos realms are
    /// case-sensitive.
    ///
    /// The known realms are those of the profiles, of krb5.conf and of the sessions. Uses no network.
    package func knownRealm(_ realm: String) async -> String {
        await signIns.names.knownRealm(realm)
    }

    /// The known realm that a name means, in any spelling; nil if it is no known realm.
    package func realmIfKnown(_ name: String) async -> String? { await signIns.names.realmIfKnown(name) }
}

extension KerberosExtension {
    /// The password rules of a realm, from the profiles.
    public func passwordRules(for realm: String) -> PasswordRules { passwords.rules(for: realm) }

    /// Changes a principal's password (RFC 3244) after checking the new one against the profile's rules. Existing tickets stay valid. A
    /// stored password is replaced.
    ///
    /// - Parameters:
    ///   - name: The principal's name, with or without a realm; nil is ``defaultPrincipal(realm:)``.
    ///   - realm: The realm of a name without one; nil is ``defaultRealm()``.
    ///   - current: The current password. It is sent once.
    ///   - new: The new password.
    /// - Returns: The principal, and when the new password expires, if that is known.
    /// - Throws: `KerberosError`; `passwordRefused` if the profile's rules or the KDC refuse the new password; `policyRefused` if the
    ///   profile does not allow password changes here.
    @discardableResult
    public func changePassword(
        of name: String? = nil,
        realm: String? = nil,
        from current: Secret,
        to new: Secret
    ) async throws(KerberosError) -> PasswordChange {
        try await passwords.change(of: name, realm: realm, from: current, to: new)
    }

    /// Changes a principal's password, and prompts for the current password once and for the new one twice. Prompts for the new one up to
    /// three times if it is refused.
    @discardableResult
    public func changePassword(
        of name: String? = nil,
        realm: String? = nil,
        prompt: any Prompter
    ) async throws(KerberosError) -> PasswordChange {
        try await passwords.change(of: name, realm: realm, prompt: prompt)
    }

    /// Returns the principal whose password would be changed, so that the caller can check before it prompts.
    ///
    /// - Throws: `KerberosError`; `policyRefused` if the profile does not allow password changes here, `passwordRefused` if it does not
    ///   allow one yet.
    package func checkPasswordChange(of name: String? = nil, realm: String? = nil) async throws(KerberosError) -> Principal {
        try await passwords.check(of: name, realm: realm)
    }
}
