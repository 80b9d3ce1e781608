public import Foundation
public import HTTPNegotiate
internal import NIOHTTP1

extension AgentClient {
    /// Who is signed in, and how the agent is; no network. Throws `AuthorizationError`.
    public func status() async throws(AuthorizationError) -> StatusDocument {
        try await answer(to: .init(method: .GET, path: AgentPath.status))
    }

    /// Whether and how a challenge from a URL would be answered now; no network. Throws `AuthorizationError`.
    public func explanation(for url: URL) async throws(AuthorizationError) -> ExplanationDocument {
        let query = url.absoluteString.addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? ""
        return try await answer(to: .init(method: .GET, path: "\(AgentPath.explain)?url=\(query)"))
    }

    /// Signs a principal in, for every program of the user. The password goes over the user's own socket, and is sent to the KDC once,
    /// whatever becomes of the connection.
    ///
    /// - Parameters:
    ///   - principal: Who; nil is the profile's principal, else the user.
    ///   - realm: The realm of a name that has none.
    ///   - password: The password.
    /// - Throws: `AuthorizationError` with the code of a `KerberosError` such as `wrongPassword`.
    @discardableResult
    public func login(_ principal: String? = nil, realm: String? = nil, password: String) async throws(AuthorizationError)
        -> StatusDocument.Session
    {
        try await login(LoginRequest(principal: principal, realm: realm, password: password))
    }

    /// Signs in by asking whoever sits at the machine, where the agent has a prompter: once, however many programs wait for it. The
    /// question stays open for minutes.
    ///
    /// - Throws: `AuthorizationError`; `notInteractive` where the agent can ask nobody, or another question is open for the principal;
    ///   `canceled` when the person gives up, or has a while ago.
    @discardableResult
    public func login(_ principal: String? = nil, realm: String? = nil) async throws(AuthorizationError) -> StatusDocument.Session {
        try await login(LoginRequest(principal: principal, realm: realm))
    }

    /// Signs in with a key of a keytab, which the agent reads.
    ///
    /// - Throws: `AuthorizationError` with the code of a `KerberosError`.
    @discardableResult
    public func login(_ principal: String? = nil, realm: String? = nil, keytab: String) async throws(AuthorizationError)
        -> StatusDocument.Session
    {
        try await login(LoginRequest(principal: principal, realm: realm, keytab: keytab))
    }

    /// Signs in with a certificate or smart card (PKINIT, RFC 4556), which the agent reads; it never tries a password in its place.
    ///
    /// Without a PIN the agent asks for the one that the certificate wants, where it has a prompter: once, however many programs wait for
    /// it.
    ///
    /// - Parameters:
    ///   - principal: Who; nil is the profile's principal, else the user.
    ///   - realm: The realm of a name that has none.
    ///   - certificate: As libkrb5 names it, with absolute paths: `FILE:/cert.pem,/key.pem`, `PKCS12:/me.p12`, `PKCS11:`; nil is the one
    ///     that the profile or krb5.conf names.
    ///   - pin: The certificate's.
    /// - Throws: `AuthorizationError` with the code of a `KerberosError` such as `certificateRefused`; `notInteractive` where the
    ///   certificate wants a PIN and nobody can be asked, or another question is open for the principal; `canceled` when the person gives
    ///   up, or has a while ago.
    @discardableResult
    public func login(
        _ principal: String? = nil,
        realm: String? = nil,
        certificate: String?,
        pin: String? = nil
    ) async throws(AuthorizationError) -> StatusDocument.Session {
        try await login(LoginRequest(principal: principal, realm: realm, certificate: certificate ?? "default", pin: pin))
    }

    /// Renews tickets, or acquires them again: from their keytabs, by passwords that are kept, or by certificates that want no PIN. It asks
    /// nobody.
    ///
    /// - Returns: The sessions that were refreshed.
    /// - Throws: `AuthorizationError` where none could be.
    @discardableResult
    public func refresh(_ principal: String? = nil, realm: String? = nil) async throws(AuthorizationError) -> [StatusDocument.Session] {
        let reply: SessionsReply = try await post(AgentPath.refresh, SessionSelection(principal: principal, realm: realm))
        return reply.sessions
    }

    /// Signs out: every process of the user at once.
    ///
    /// - Parameters:
    ///   - principal: Who; nil is everybody.
    ///   - realm: The realm of a name that has none, or everybody of this realm.
    ///   - all: Destroys tickets that other programs acquired as well.
    /// - Throws: `AuthorizationError`.
    @discardableResult
    public func logout(_ principal: String? = nil, realm: String? = nil, all: Bool = false) async throws(AuthorizationError)
        -> SignOutDocument
    {
        try await post(AgentPath.logout, SessionSelection(principal: principal, realm: realm, all: all))
    }

    /// Changes a principal's password. The tickets that are there go on holding, and ``AgentEvent/Kind/passwordChanged`` is told to all.
    ///
    /// - Parameters:
    ///   - principal: Whose; nil is the profile's principal, else the user.
    ///   - realm: The realm of a name that has none.
    ///   - password: The current password. It is sent to the KDC once, whatever becomes of the connection.
    ///   - newPassword: The new one.
    /// - Throws: `AuthorizationError` with the code of a `KerberosError` such as `passwordRefused`, whose message has the KDC's own words.
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
            // The agent may wait for a KDC several times over.
            return try await post(AgentPath.password, request, isRepeatable: false, waitsForAPerson: true)
        } catch  where [.timedOut, .canceled, .agentUnavailable].contains(error.code) {
            let message = "\(error.message) The password may have been changed: try the new one first."
            throw AuthorizationError(error.code, message, cause: error.cause)
        }
    }

    /// Has the agent end what is in progress, and stop. Throws `AuthorizationError`.
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
            throw AuthorizationError(.agentUnavailable, "\(socketPath): the agent's answer lacks the session. Start it anew.")
        }
        return session
    }
}
