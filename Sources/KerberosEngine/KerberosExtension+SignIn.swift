package import Kerberos

extension KerberosExtension {
    /// Signs in a principal and stores its tickets in the shared credential cache, where every program finds them.
    @discardableResult
    package func signIn(
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

    /// Signs in, and stores the password (`Options/secretStore`) once the KDC has accepted it.
    @discardableResult
    package func signInRemembering(
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
    ///   - name: The principal's name, with or without a realm; nil is the default principal.
    ///   - realm: The realm of a name without one; nil is the default realm.
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
    ///   - name: The principal's name, with or without a realm; nil is the default principal.
    ///   - realm: The realm of a name without one; nil is the default realm.
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

    /// Whether there is a prompter (`Options/prompter`).
    package var canPrompt: Bool { signIns.prompts.prompter != nil }

    /// Whether a smart card that is inserted should sign in to a realm, because the user has no session there.
    package func lacksSession(realm: String) async throws(KerberosError) -> Bool {
        await offsets.follow(source)
        let wanted = try await names.wanted(nil, realm: realm, using: nil).principal
        return try await !sessions().sessions.contains { session in
            // The KDC replaces an enterprise name by another one.
            let isWanted = wanted == nil || wanted == session.principal || wanted?.isEnterpriseName == true
            return session.isSignedIn && session.realm == realm && isWanted
        }
    }

    /// Signs in to a realm with the smart card that its profile or krb5.conf names, because a card was inserted, and prompts for its PIN.
    /// A prompt that was canceled before prevents no new one.
    ///
    /// Cancel the task when the card is removed: the prompt then closes also for programs that wait for the same sign-in.
    ///
    /// - Throws: `KerberosError`; `certificateRefused` if no card is configured; `notInteractive` if there is no prompter or another prompt
    ///   is open for the principal; `canceled` if the person cancels.
    package func signInWithCard(realm: String) async throws(KerberosError) -> Session {
        await offsets.follow(source)
        return try await signIns.signInWithCard(realm: realm)
    }

    /// Cancels the open prompts. Their callers get `canceled`.
    package func cancelPrompts() { signIns.prompts.cancelAll() }

    /// Shares the prompts with the extension that this one replaces: a principal has one open prompt, ``cancelPrompts()`` of either cancels
    /// all, and for a while, a principal whose prompt was canceled there gets none here.
    package func sharePrompts(with predecessor: KerberosExtension) { signIns.prompts.share(with: predecessor.signIns.prompts) }

    /// The source of a person's sign-in to a realm. It is the certificate if one is configured and the profile prefers certificates or
    /// allows no passwords; otherwise the prompter answers what libkrb5 asks.
    package func interactiveSource(
        realm: String?,
        prompter: any Prompter
    ) async throws(KerberosError) -> InitialCredentialSource {
        guard let realm = if let realm { realm } else { try await names.defaultRealm() } else { return .prompter(prompter) }
        return try await signIns.exchange.permissions.interactiveSource(realm: realm, prompter: prompter)
    }

    /// Checks that a client of the agent may sign in a principal with the credential that it names.
    ///
    /// - Throws: `KerberosError`; `certificateRefused` if the agent would run a file that the client names.
    package func check(_ given: InitialCredentialSource, of name: String?, realm: String?) async throws(KerberosError) {
        let principal = try await names.principal(orDefault: name, realm: realm)
        try await given.kind.checkNaming(in: principal.realm, by: signIns.exchange.permissions)
    }
}

extension KerberosExtension {
    /// Finds the principals and the realms that names mean.
    package var names: PrincipalNames { signIns.names }

    /// Changes a principal's password (RFC 3244) after checking the new one against the profile's rules.
    @discardableResult
    package func changePassword(
        of name: String? = nil,
        realm: String? = nil,
        from current: Secret,
        to new: Secret
    ) async throws(KerberosError) -> PasswordChange {
        try await passwords.change(of: name, realm: realm, from: current, to: new)
    }

    /// Changes a principal's password, and prompts for the current password once and for the new one twice.
    @discardableResult
    package func changePassword(
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
