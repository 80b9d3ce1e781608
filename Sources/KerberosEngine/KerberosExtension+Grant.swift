internal import HTTPNegotiate
internal import Kerberos

extension KerberosExtension {
    /// Makes the first token of an exchange. It does not block, since the ticket is at hand; where the user's own ticket goes along, which
    /// the KDC has to be asked for, the realm's own thread makes it.
    ///
    /// A service's ticket may end between the look at it and the token, on a machine that is busy or was asleep: it is got anew, once.
    func grant(for plan: AuthorizationPlan, request: AuthorizationRequest) async throws(AuthorizationError) -> AuthorizationGrant {
        do throws(AuthorizationError) {
            return try await makeGrant(for: plan, request: request)
        } catch {
            guard keytabSession != nil, error.code == .notSignedIn else { throw error }
            initiators.removeAll()
            return try await makeGrant(for: plan, request: request)
        }
    }

    private func makeGrant(for plan: AuthorizationPlan, request: AuthorizationRequest) async throws(AuthorizationError)
        -> AuthorizationGrant
    {
        let credential = try await initiatorCredential(for: plan, request: request)
        let mutualAuthentication = request.mutualAuthentication ?? plan.mutualAuthentication
        let flags = plan.flags(mutualAuthentication: mutualAuthentication, credential: credential)
        let bindings = plan.bindsChannel ? request.channelBindings.map { ChannelBindings(applicationData: $0) } : nil
        let step: InitiatorStep
        do throws(KerberosError) {
            if credential.canDelegate {
                let client = clients.client(for: credential.client.realm)
                step = try await client.beginNegotiation(with: credential, flags: flags, channelBindings: bindings)
            } else {
                step = try SPNEGOInitiator.begin(with: credential, flags: flags, channelBindings: bindings)
            }
        } catch {
            throw AuthorizationError(error)
        }
        let identity = plan.identity(with: credential)
        switch consume step {
        case .proceed(let token, let initiator):
            return AuthorizationGrant(
                headers: NegotiateCredentials(token: token).headers,
                identity: identity,
                exchange: TokenExchange(initiator)
            )
        case .established(let token, let context):
            // With mutual authentication the server's answer is missing yet; without it there may be nothing to wait for.
            guard mutualAuthentication == .off else {
                throw AuthorizationError(.mutualAuthenticationFailed, "\(credential.server): mutual authentication was not negotiated.")
            }
            return AuthorizationGrant(
                headers: NegotiateCredentials(token: token ?? []).headers,
                identity: identity,
                exchange: TokenExchange(established: context)
            )
        }
    }
}
