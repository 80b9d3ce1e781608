public import ActiveDirectory
public import Foundation
internal import HTTPTypes
public import Kerberos
public import KerberosEngine
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
        try await signIn(name, realm: realm, using: .prompter(prompt), options: options)
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
        try await signInIfNeeded(name, realm: realm, using: .prompter(prompt), validFor: validity, options: options)
    }

    /// Signs in with a password, a keytab or a prompter unless a session is valid long enough; see
    /// `KerberosExtension/signInIfNeeded(_:realm:using:validFor:options:)`.
    @discardableResult
    public func signInIfNeeded(
        _ name: String? = nil,
        realm: String? = nil,
        using source: InitialCredentialSource,
        validFor validity: Duration = .seconds(300),
        options: InitialCredentialOptions = .init()
    ) async throws(KerberosError) -> Session {
        try await kerberos.signInIfNeeded(name, realm: realm, using: source, validFor: validity, options: options)
    }

    /// Signs in with a password, a keytab or a prompter; see `KerberosExtension/signIn(_:realm:using:options:cache:)`.
    @discardableResult
    public func signIn(
        _ name: String? = nil,
        realm: String? = nil,
        using source: InitialCredentialSource,
        options: InitialCredentialOptions = .init(),
        cache: CredentialCacheName? = nil
    ) async throws(KerberosError) -> Session {
        try await kerberos.signIn(name, realm: realm, using: source, options: options, cache: cache)
    }

    /// Signs in and stores the password; see `KerberosExtension/signInRemembering(_:realm:using:options:cache:)`.
    @discardableResult
    public func signInRemembering(
        _ name: String? = nil,
        realm: String? = nil,
        using source: InitialCredentialSource,
        options: InitialCredentialOptions = .init(),
        cache: CredentialCacheName? = nil
    ) async throws(KerberosError) -> KerberosExtension.RememberedSignIn {
        try await kerberos.signInRemembering(name, realm: realm, using: source, options: options, cache: cache)
    }

    /// All sessions in the credential caches. Uses no network.
    public func sessions() async throws(KerberosError) -> SessionList { try await kerberos.sessions() }

    /// Renews or reacquires a session's ticket. Prompts only for a certificate's PIN, and only if there is a prompter. See
    /// `KerberosExtension/refresh(_:prompter:)`.
    @discardableResult
    public func refresh(_ session: Session, prompter: (any Prompter)? = nil) async throws(KerberosError) -> Session {
        try await kerberos.refresh(session, prompter: prompter)
    }

    /// Ends sessions; see `KerberosExtension/signOut(_:realm:includingOthers:)`.
    @discardableResult
    public func signOut(
        _ principal: Principal? = nil,
        realm: String? = nil,
        includingOthers: Bool = false
    ) async throws(KerberosError) -> KerberosExtension.SignOutResult {
        try await kerberos.signOut(principal, realm: realm, includingOthers: includingOthers)
    }

    /// Ends the sessions of a principal; see `KerberosExtension/signOut(_:realm:includingOthers:)`.
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
    ) async throws(KerberosError) -> KerberosExtension.SignOutResult {
        try await signOut(try await kerberos.principal(name, realm: realm), includingOthers: includingOthers)
    }

    /// Changes a password; see `KerberosExtension/changePassword(of:realm:from:to:)`.
    @discardableResult
    public func changePassword(
        of name: String? = nil,
        realm: String? = nil,
        from current: Secret,
        to new: Secret
    ) async throws(KerberosError) -> PasswordChange {
        try await kerberos.changePassword(of: name, realm: realm, from: current, to: new)
    }

    /// Changes a password, and prompts for the current password and twice for the new one; see
    /// `KerberosExtension/changePassword(of:realm:prompt:)`.
    @discardableResult
    public func changePassword(
        of name: String? = nil,
        realm: String? = nil,
        prompt: any Prompter
    ) async throws(KerberosError) -> PasswordChange {
        try await kerberos.changePassword(of: name, realm: realm, prompt: prompt)
    }

    /// Makes a signed-in principal the default of its realm.
    @discardableResult
    public func makeDefault(_ principal: Principal) async throws(KerberosError) -> Session {
        try await kerberos.makeDefault(principal)
    }

    /// Makes a signed-in principal the default of its realm.
    ///
    /// - Parameters:
    ///   - name: The principal's name, with or without a realm.
    ///   - realm: The realm of a name without one; nil is the default realm.
    /// - Throws: `KerberosError`; `noCredentials` if the principal is not signed in.
    @discardableResult
    public func makeDefault(_ name: String, realm: String? = nil) async throws(KerberosError) -> Session {
        try await makeDefault(try await kerberos.principal(name, realm: realm))
    }

    /// Explains what would answer a challenge from a URL. Uses no network.
    ///
    /// - Parameters:
    ///   - url: The URL; for a proxy, `http://` and the address of the proxy itself.
    ///   - challenger: The sender of the challenge: the origin server or a proxy.
    public func explanation(for url: URL, challenger: Challenger = .origin) async -> Explanation {
        await kerberos.explanation(for: url, challenger: challenger)
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
    /// - Returns: The account and the rules for its passwords; nil if the realm is no domain, or if a sign-in would not look for its
    ///   controllers, because krb5.conf names the KDCs or the profile forbids it (`useSiteAutoDiscovery`).
    /// - Throws: `DirectoryError`; `libraryMissing` if OpenLDAP's libldap is not installed.
    public func readAccount(of session: Session) async throws(DirectoryError) -> DomainDirectory.Record? {
        try await kerberos.readAccount(of: session)
    }

    /// Returns the principal for a name. A name without a realm is in the given realm, else in the default realm. Without a name, returns
    /// the principal that ``signIn(_:realm:prompt:options:)`` would sign in.
    public func principal(_ name: String?, realm: String? = nil) async throws(KerberosError) -> Principal {
        guard let name else { return try await kerberos.defaultPrincipal(realm: realm) }
        return try await kerberos.principal(name, realm: realm)
    }
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
