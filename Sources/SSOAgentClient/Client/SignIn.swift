public import SignOnPolicy

/// Sign-ins through the agent: a call for each kind of credential, and the message that they send.
extension AgentClient {
    /// Signs a principal in with a password, for every program of the user. The password is sent over the user's own socket and is used for
    /// one attempt at the KDC; it is never sent again if the connection fails.
    ///
    /// - Parameters:
    ///   - principal: The principal; nil means the profile's principal, or else the user.
    ///   - realm: The realm for a name without one.
    ///   - password: The password.
    /// - Throws: `AuthorizationError` with the code of a `KerberosError`, such as `wrongPassword`.
    @discardableResult
    public func login(_ principal: String? = nil, realm: String? = nil, password: String) async throws(AuthorizationError)
        -> StatusDocument.Session
    {
        try await login(LoginRequest(principal: principal, realm: realm, password: password))
    }

    /// Signs in by prompting the user, if the agent has a prompter: once for all programs that wait for it. The prompt stays open for
    /// minutes.
    ///
    /// - Throws: `AuthorizationError`; `notInteractive` if the agent cannot prompt, or another prompt is open for the principal; `canceled`
    ///   if the user cancels, or has canceled a short time ago.
    @discardableResult
    public func login(_ principal: String? = nil, realm: String? = nil) async throws(AuthorizationError) -> StatusDocument.Session {
        try await login(LoginRequest(principal: principal, realm: realm))
    }

    /// Signs in with a keytab, which the agent reads.
    ///
    /// - Throws: `AuthorizationError` with the code of a `KerberosError`.
    @discardableResult
    public func login(_ principal: String? = nil, realm: String? = nil, keytab: String) async throws(AuthorizationError)
        -> StatusDocument.Session
    {
        try await login(LoginRequest(principal: principal, realm: realm, keytab: keytab))
    }

    /// Signs in with a certificate or smart card (PKINIT, RFC 4556), which the agent reads. It never falls back to a password.
    ///
    /// Without a PIN, an agent with a prompter prompts for the PIN that the certificate requires, once for all programs that wait for it.
    ///
    /// - Parameters:
    ///   - principal: The principal; nil means the profile's principal, or else the user.
    ///   - realm: The realm for a name without one.
    ///   - certificate: The identity in libkrb5's syntax with absolute paths: `FILE:/cert.pem,/key.pem`, `PKCS12:/me.p12`, `PKCS11:`; nil
    ///     means the one that the profile or krb5.conf names.
    ///   - pin: The certificate's PIN.
    /// - Throws: `AuthorizationError` with the code of a `KerberosError`, such as `certificateRefused`; `notInteractive` if the certificate
    ///   requires a PIN and the agent cannot prompt, or another prompt is open for the principal; `canceled` if the user cancels, or has
    ///   canceled a short time ago.
    @discardableResult
    public func login(
        _ principal: String? = nil,
        realm: String? = nil,
        certificate: String?,
        pin: String? = nil
    ) async throws(AuthorizationError) -> StatusDocument.Session {
        try await login(LoginRequest(principal: principal, realm: realm, certificate: certificate ?? "default", pin: pin))
    }

    private func login(_ request: LoginRequest) async throws(AuthorizationError) -> StatusDocument.Session {
        let reply: SessionsReply = try await post(
            AgentPath.login,
            request,
            isRepeatable: false,
            waitsForAPerson: request.mayAsk
        )
        guard let session = reply.sessions.first else {
            throw AuthorizationError(.agentUnavailable, "\(socketPath): the agent's response contains no session. Restart the agent.")
        }
        return session
    }
}

/// The body of `POST /v1/login`. Because it contains a secret, its description is redacted, and it is sent only over a socket of the user's
/// own.
package struct LoginRequest: Codable, Sendable {
    package var principal: String?
    package var realm: String?
    /// The password, used for one attempt at the KDC. Mutually exclusive with ``keytab`` and ``certificate``.
    package var password: String?
    /// The absolute path of a keytab.
    package var keytab: String?
    /// A certificate in libkrb5's syntax; `default` means the configured one.
    package var certificate: String?
    /// The certificate's PIN.
    package var pin: String?
    /// The requested lifetime of the ticket, in seconds.
    package var lifetime: Int?
    /// The requested renewable lifetime, in seconds.
    package var renewableLifetime: Int?

    package enum CodingKeys: String, CodingKey, CaseIterable {
        case principal, realm, password, keytab, certificate, pin, lifetime, renewableLifetime
    }

    package init(
        principal: String? = nil,
        realm: String? = nil,
        password: String? = nil,
        keytab: String? = nil,
        certificate: String? = nil,
        pin: String? = nil,
        lifetime: Int? = nil,
        renewableLifetime: Int? = nil
    ) {
        self.principal = principal
        self.realm = realm
        self.password = password
        self.keytab = keytab
        self.certificate = certificate
        self.pin = pin
        self.lifetime = lifetime
        self.renewableLifetime = renewableLifetime
    }
}

extension LoginRequest {
    /// Whether the agent may prompt for what the request lacks.
    fileprivate var mayAsk: Bool { password == nil && keytab == nil }
}

extension LoginRequest: CustomStringConvertible, CustomReflectable {
    /// A text without the password and the PIN.
    package var description: String { "a sign-in" }
    /// A mirror without the password and the PIN.
    package var customMirror: Mirror { Mirror(self, children: []) }
}
