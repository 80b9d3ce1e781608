public import Foundation
internal import NIOHTTP1
public import SignOnPolicy
public import SystemSupport

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

    /// Renews tickets, or reacquires them with keytabs, stored passwords or certificates without a PIN. It never prompts.
    ///
    /// - Returns: The sessions that were refreshed.
    /// - Throws: `AuthorizationError` if no session could be refreshed, with the code of a `KerberosError`, such as `noCredentials` if
    ///   there is none.
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
    /// - Throws: `AuthorizationError`, with the code of a `KerberosError` if the caches cannot be changed.
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
        from password: Secret,
        to newPassword: Secret
    ) async throws(AuthorizationError) -> PasswordChangeDocument {
        let request = try PasswordRequest(
            principal: principal,
            realm: realm,
            password: password.text(),
            newPassword: newPassword.text()
        )
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
}
