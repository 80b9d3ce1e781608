public import ActiveDirectory
public import Foundation
internal import HTTPTypes
public import Kerberos
public import KerberosEngine
public import SignOnPolicy
internal import SystemSupport

extension SingleSignOn {
    /// Signs in, and prompts for what libkrb5 asks for: a password, a code. Stores the tickets in the shared credential cache.
    ///
    /// - Parameters:
    ///   - name: The principal's name, with or without a realm; nil is the profile's principal, else the user's name.
    ///   - realm: The realm of a name without one; nil is the default realm.
    ///   - prompt: The prompter, such as `Kerberos/Prompter/terminal`.
    ///   - options: The options of the request.
    /// - Throws: `KerberosError`. A wrong password is sent once.
    @discardableResult
    public func signIn(
        _ name: String? = nil,
        realm: String? = nil,
        prompt: any Prompter,
        options: InitialCredentialOptions = .init()
    ) async throws(KerberosError) -> Session {
        let whom = try await principal(name, realm: realm)
        let source = try await engine.interactiveSource(realm: whom.realm, prompter: prompt)
        return try await signIn(name, realm: realm, using: source, options: options)
    }

    /// Signs in unless a session is valid long enough, so that a program does not prompt each time it runs.
    ///
    /// ```swift
    /// let session = try await sso.signInIfNeeded("alice", prompt: .terminal)
    /// ```
    ///
    /// A ticket that expires sooner is renewed, or reacquired with the keytab or the stored password of its sign-in, without a prompt. If
    /// no name is given and the profile names no principal, any session of the realm will do, because the name of an account here may
    /// differ from that of its principal. Concurrent calls share one prompt.
    ///
    /// - Parameters:
    ///   - name: The principal's name, with or without a realm; nil is the profile's principal, else the one that is signed in, else the
    ///     user.
    ///   - realm: The realm of a name without one; nil is the default realm.
    ///   - prompt: The prompter, such as `Kerberos/Prompter/terminal`.
    ///   - validity: How long the ticket must be valid: longer than the program needs it, because a ticket without renewal ends in the
    ///     middle of its work. If `options` have no lifetime, one that is long enough is requested. A KDC may issue
    ///     tickets that are valid for less: then every call signs in.
    ///   - options: The options of the request for a ticket.
    /// - Returns: The session.
    /// - Throws: `KerberosError`. A wrong password is sent once.
    @discardableResult
    public func signInIfNeeded(
        _ name: String? = nil,
        realm: String? = nil,
        prompt: any Prompter,
        validFor validity: Duration = .seconds(300),
        options: InitialCredentialOptions = .init()
    ) async throws(KerberosError) -> Session {
        let whom = try await principal(name, realm: realm)
        let source = try await engine.interactiveSource(realm: whom.realm, prompter: prompt)
        return try await signInIfNeeded(name, realm: realm, using: source, validFor: validity, options: options)
    }

    /// Signs in with a password, a keytab or a prompter unless a session is valid long enough; see
    /// ``signInIfNeeded(_:realm:prompt:validFor:options:)``. Concurrent calls that prompt, or have the same keytab, share one sign-in; the
    /// options of the first one apply.
    ///
    /// - Throws: `KerberosError`; `kdcUnreachable` also if the present ticket is valid, but not long enough.
    @discardableResult
    public func signInIfNeeded(
        _ name: String? = nil,
        realm: String? = nil,
        using source: InitialCredentialSource,
        validFor validity: Duration = .seconds(300),
        options: InitialCredentialOptions = .init()
    ) async throws(KerberosError) -> Session {
        try await engine.signInIfNeeded(name, realm: realm, using: source, validFor: validity, options: options)
    }

    /// Signs in a principal and stores its tickets in the shared credential cache, where every program finds them.
    ///
    /// The principal becomes the default of its realm. The tickets of other principals are kept: if the default cache can hold only one
    /// principal, a second one gets its own cache.
    ///
    /// - Parameters:
    ///   - name: The principal's name, with or without a realm; nil is the profile's principal, else the user's name.
    ///   - realm: The realm of a name without one; nil is the default realm.
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
        try await engine.signIn(name, realm: realm, using: source, options: options, cache: cache)
    }

    /// Signs in, and stores the password (``Settings/secretStore``) once the KDC has accepted it. When a ticket expires and cannot be
    /// renewed, the next one is acquired with the stored password, without a prompt.
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
        try await engine.signInRemembering(name, realm: realm, using: source, options: options, cache: cache)
    }

    /// All sessions in the credential caches. Uses no network.
    public func sessions() async throws(KerberosError) -> SessionList { try await engine.sessions() }

    /// Renews or reacquires a session's ticket-granting ticket.
    ///
    /// A ticket from a keytab is reacquired with that keytab. Any other ticket is renewed. If it cannot be renewed, it is reacquired with
    /// the stored password or the certificate of the sign-in. The only prompt is for a certificate's PIN. Service tickets that are still
    /// valid are kept. A key that the KDC refused is not sent again for five minutes.
    ///
    /// A certificate is reused if it is a file, or is on a card that libkrb5's own module reads (`PKCS11:` without a module). Another
    /// module or `ENV:` is used only if the profile or krb5.conf names the same one: otherwise the cache alone would name it, and libkrb5
    /// would run it.
    ///
    /// Concurrent callers share one request to the KDC. If another program has replaced the ticket in the meantime, the session is returned
    /// as it is now, unless the new ticket is due for renewal as well.
    ///
    /// - Parameters:
    ///   - session: The session to refresh.
    ///   - prompt: Asks for the PIN of a certificate that requires one; nil asks no one.
    /// - Throws: `KerberosError`; `notInteractive` if the ticket cannot be acquired without a person, `noCredentials` if the session has
    ///   ended.
    @discardableResult
    public func refresh(_ session: Session, prompt: (any Prompter)? = nil) async throws(KerberosError) -> Session {
        try await engine.refresh(session, prompter: prompt)
    }

    /// Ends the sessions of a principal and destroys their tickets. Also removes its stored password (``Settings/secretStore``), because
    /// the next request would sign in with it again. A ticket that is being renewed is discarded.
    ///
    /// - Parameters:
    ///   - principal: The principal.
    ///   - includingOthers: Whether to destroy tickets that other programs acquired: kinit, sssd, a login through PAM.
    /// - Throws: `KerberosError`.
    @discardableResult
    public func signOut(_ principal: Principal, includingOthers: Bool = false) async throws(KerberosError) -> SignOutResult {
        try await engine.signOut(principal, includingOthers: includingOthers)
    }

    /// Ends the sessions of all principals, as ``signOut(_:includingOthers:)`` does. Also removes the stored passwords of the principals
    /// that would sign in without a name.
    ///
    /// - Parameters:
    ///   - realm: The realm; nil is every realm.
    ///   - includingOthers: Whether to destroy tickets that other programs acquired: kinit, sssd, a login through PAM.
    /// - Throws: `KerberosError`.
    @discardableResult
    public func signOutAll(realm: String? = nil, includingOthers: Bool = false) async throws(KerberosError) -> SignOutResult {
        try await engine.signOut(nil, realm: realm, includingOthers: includingOthers)
    }

    /// Ends the sessions of a principal, as the call with a `Principal` does.
    ///
    /// - Parameters:
    ///   - name: The principal's name, with or without a realm.
    ///   - realm: The realm of a name without one; nil is the default realm.
    ///   - includingOthers: Whether to destroy tickets that other programs acquired.
    /// - Throws: `KerberosError`.
    @discardableResult
    public func signOut(
        _ name: String,
        realm: String? = nil,
        includingOthers: Bool = false
    ) async throws(KerberosError) -> SignOutResult {
        try await signOut(try await engine.names.principal(name, realm: realm), includingOthers: includingOthers)
    }

    /// Changes a principal's password (RFC 3244) after checking the new one against the profile's rules. Existing tickets stay valid. A
    /// stored password is replaced.
    ///
    /// - Parameters:
    ///   - name: The principal's name, with or without a realm; nil is the profile's principal, else the user's name.
    ///   - realm: The realm of a name without one; nil is the default realm.
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
        try await engine.changePassword(of: name, realm: realm, from: current, to: new)
    }

    /// Changes a principal's password, and prompts for the current password once and for the new one twice. Prompts for the new one up to
    /// three times if it is refused.
    @discardableResult
    public func changePassword(
        of name: String? = nil,
        realm: String? = nil,
        prompt: any Prompter
    ) async throws(KerberosError) -> PasswordChange {
        try await engine.changePassword(of: name, realm: realm, prompt: prompt)
    }

    /// Makes a signed-in principal the default of its realm, and its cache the primary one of its collection.
    ///
    /// - Throws: `KerberosError`; `noCredentials` if the principal is not signed in.
    @discardableResult
    public func makeDefault(_ principal: Principal) async throws(KerberosError) -> Session {
        try await engine.makeDefault(principal)
    }

    /// Makes a signed-in principal the default of its realm.
    ///
    /// - Parameters:
    ///   - name: The principal's name, with or without a realm.
    ///   - realm: The realm of a name without one; nil is the default realm.
    /// - Throws: `KerberosError`; `noCredentials` if the principal is not signed in.
    @discardableResult
    public func makeDefault(_ name: String, realm: String? = nil) async throws(KerberosError) -> Session {
        try await makeDefault(try await engine.names.principal(name, realm: realm))
    }

    /// Explains the decision for a URL and which credential would answer a challenge. Uses no network.
    ///
    /// - Parameters:
    ///   - url: The URL; for a proxy, `http://` and the address of the proxy itself.
    ///   - challenger: The sender of the challenge: the origin server or a proxy.
    public func explanation(for url: URL, challenger: Challenger = .origin) async -> Explanation {
        await engine.explanation(for: url, challenger: challenger)
    }

    /// Creates the value of the `Authorization` field for one request, such as `Negotiate YII…`.
    ///
    /// For HTTP clients that this package has no module for. The header alone does not verify the server: a client that must do that
    /// follows the whole exchange, as `NegotiateExchange` describes.
    ///
    /// - Parameters:
    ///   - url: The URL of the request, whose host the profile must cover.
    ///   - principal: The principal to use if several are signed in; nil leaves the choice to the profile.
    ///   - channelBindings: `tls-server-end-point:` and the hash of the server's certificate (RFC 5929). Without them the ticket is not
    ///     bound to the TLS connection, and a server that requires channel bindings refuses it.
    /// - Throws: `AuthorizationError`, with the code `notHandled` if no rule covers the URL.
    public func authorizationHeader(
        for url: URL,
        principal: String? = nil,
        channelBindings: [UInt8]? = nil
    ) async throws(AuthorizationError) -> String {
        let request = AuthorizationRequest(url: url, principal: principal, channelBindings: channelBindings)
        switch try await beginAuthorization(with: request) {
        case .headers(let grant):
            guard let header = grant.headers[.authorization] else { break }
            return header
        case .notHandled(let reasons):
            throw AuthorizationError(.notHandled, reasons.last { $0.verdict == .failed }?.detail ?? "No rule covers the URL.")
        case .completed: break
        }
        throw AuthorizationError(.failed, "The extension created no header.")
    }
}

extension SingleSignOn {
    /// Reads the account of a session's principal in the directory (LDAP) of its Active Directory domain, with the session's ticket.
    ///
    /// ```swift
    /// if let record = try await sso.readAccount(of: session), record.account.passwordExpiry == .mustChange { … }
    /// ```
    ///
    /// The session's cache keeps what `Session.account` says, for all programs. An agent reads it after each sign-in, and every four
    /// hours.
    ///
    /// - Returns: The account and the rules for its passwords; nil if the realm is not an Active Directory domain, or if sign-ins do not
    ///   search for its controllers, because krb5.conf names the KDCs or the profile forbids it (`useSiteAutoDiscovery`).
    /// - Throws: `DirectoryError`; `libraryMissing` if OpenLDAP's libldap is not installed.
    public func readAccount(of session: Session) async throws(DirectoryError) -> DomainDirectory.Record? {
        try await engine.readAccount(of: session)
    }

    /// Returns the principal for a name as people write it. A name without a realm is in the given realm, else in the default realm. A
    /// realm that differs from a known one only in case is replaced by the known one. Without a name, returns the principal that
    /// ``signIn(_:realm:prompt:options:)`` would sign in.
    ///
    /// A name with a lower-case letter after the @, and with no such realm, is a user principal name of Active Directory, which the KDC of
    /// the given realm, else of the default realm, replaces at the sign-in. The realm of `DOMAIN\user` is the one of that Windows domain;
    /// to find it, controllers may be asked.
    ///
    /// - Throws: `KerberosError`; `malformedPrincipal` for a Windows domain that no known realm matches.
    public func principal(_ name: String?, realm: String? = nil) async throws(KerberosError) -> Principal {
        guard let name else { return try await engine.names.defaultPrincipal(realm: realm) }
        return try await engine.names.principal(name, realm: realm)
    }
}

extension SingleSignOn {
    /// The password rules of a realm, from the profiles.
    public func passwordRules(for realm: String) -> PasswordRules { policy.configurations.passwordRules(for: realm) }
}

extension Session {
    /// Returns the notice about a password that expires soon; nil if it is not due.
    package func passwordNotice(_ rules: PasswordRules, now: Date = Date()) -> String? {
        guard let passwordExpires, rules.isNoticeDue(expires: passwordExpires, now: now) else { return nil }
        let days = Int(passwordExpires.timeIntervalSince(now) / 86_400)
        let left = days == 0 ? "in less than a day" : "in \(quantity(days, "day"))"
        let advice = passwordAdvice(rules).map { " \($0)" } ?? ""
        return "the password expires \(left), on \(passwordExpires.localText).\(advice)"
    }

    /// Says where to change the password; nil if the profile does not permit it.
    package func passwordAdvice(_ rules: PasswordRules) -> String? {
        if let url = rules.changeURL { return "Change it at: \(url)" }
        return rules.isChangeAllowed ? "Change it with: ksso passwd \(principal)" : nil
    }
}
