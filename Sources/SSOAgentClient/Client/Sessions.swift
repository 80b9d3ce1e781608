public import Foundation
internal import NIOHTTP1
public import SignOnPolicy

extension AgentClient {
    /// Returns the sessions and the agent's state, without using the network. Throws `AuthorizationError`.
    public func status() async throws(AuthorizationError) -> StatusDocument {
        try await answer(to: .init(method: .GET, path: AgentPath.status))
    }

    /// Explains whether and how a challenge from a URL would be answered now, without using the network. Throws `AuthorizationError`.
    public func explanation(for url: URL) async throws(AuthorizationError) -> ExplanationDocument {
        let query = url.absoluteString.addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? ""
        return try await answer(to: .init(method: .GET, path: "\(AgentPath.explain)?url=\(query)"))
    }

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

    /// Renews tickets, or reacquires them with keytabs, stored passwords or certificates without a PIN. It never prompts.
    ///
    /// - Returns: The sessions that were refreshed.
    /// - Throws: `AuthorizationError` if no session could be refreshed.
    @discardableResult
    public func refresh(_ principal: String? = nil, realm: String? = nil) async throws(AuthorizationError) -> [StatusDocument.Session] {
        let reply: SessionsReply = try await post(AgentPath.refresh, SessionSelection(principal: principal, realm: realm))
        return reply.sessions
    }

    /// Signs out, for every process of the user.
    ///
    /// - Parameters:
    ///   - principal: The principal; nil means all principals.
    ///   - realm: The realm for a name without one; without a principal, only sessions of this realm end.
    ///   - all: Whether to destroy tickets acquired by other programs as well.
    /// - Throws: `AuthorizationError`.
    @discardableResult
    public func logout(_ principal: String? = nil, realm: String? = nil, all: Bool = false) async throws(AuthorizationError)
        -> SignOutDocument
    {
        try await post(AgentPath.logout, SessionSelection(principal: principal, realm: realm, all: all))
    }

    /// Changes a principal's password. Existing tickets stay valid, and ``AgentEvent/Kind/passwordChanged`` is sent to all listeners.
    ///
    /// - Parameters:
    ///   - principal: The principal; nil means the profile's principal, or else the user.
    ///   - realm: The realm for a name without one.
    ///   - password: The current password. It is used for one attempt at the KDC, and never sent again if the connection fails.
    ///   - newPassword: The new password.
    /// - Throws: `AuthorizationError` with the code of a `KerberosError`, such as `passwordRefused`, whose message contains the KDC's text.
    ///   After `timedOut`, `canceled` and `agentUnavailable` the password may have been changed.
    @discardableResult
    public func changePassword(
        of principal: String? = nil,
        realm: String? = nil,
        from password: String,
        to newPassword: String
    ) async throws(AuthorizationError) -> PasswordChangeDocument {
        let request = PasswordRequest(principal: principal, realm: realm, password: password, newPassword: newPassword)
        do throws(AuthorizationError) {
            // The agent may wait for several KDCs in turn.
            return try await post(AgentPath.password, request, isRepeatable: false, waitsForAPerson: true)
        } catch  where [.timedOut, .canceled, .agentUnavailable].contains(error.code) {
            let message = "\(error.message) The password may have changed: try the new one first."
            throw AuthorizationError(error.code, message, cause: error.cause)
        }
    }

    /// Makes the agent finish the requests in progress and stop. Throws `AuthorizationError`.
    public func stop() async throws(AuthorizationError) {
        try await send(.init(method: .POST, path: AgentPath.stop), isRepeatable: false)
    }

    package func login(_ request: LoginRequest) async throws(AuthorizationError) -> StatusDocument.Session {
        let reply: SessionsReply = try await post(
            AgentPath.login,
            request,
            isRepeatable: false,
            waitsForAPerson: request.password == nil && request.keytab == nil
        )
        guard let session = reply.sessions.first else {
            throw AuthorizationError(.agentUnavailable, "\(socketPath): the agent's response contains no session. Restart the agent.")
        }
        return session
    }
}
