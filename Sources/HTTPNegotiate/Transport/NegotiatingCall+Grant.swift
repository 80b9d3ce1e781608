internal import HTTPTypes

extension NegotiatingCall {
    /// The longest `Authorization` field that is sent: a token of 64 KiB in base64.
    private static var maximumFieldSize: Int { "Negotiate ".utf8.count + (NegotiateChallenge.maximumTokenSize + 2) / 3 * 4 }

    /// What is ready, or else a token that the extension is asked for; nil when it does not handle the request.
    func grant(
        for target: Target,
        channelBindings: [UInt8]?,
        ready: ReadyGrant? = nil
    ) async throws(AuthorizationError) -> AuthorizationGrant? {
        if let ready, ready.answers(channelBindings: channelBindings) { return ready.grant }
        try checkBindings(channelBindings, for: target)
        let authorization = request(for: target, channelBindings: channelBindings)
        guard case .headers(let grant) = try await credentialExtension.beginAuthorization(with: authorization) else { return nil }
        let size = Self.fieldSize(grant)
        guard size <= Self.maximumFieldSize else {
            let message =
                "The ticket for \(grant.servicePrincipal) makes a header field of \(size) bytes, more than any server takes. "
                + "Its authorization data, such as group memberships, must shrink."
            throw AuthorizationError(.tokenTooLarge, message)
        }
        return grant
    }

    /// What the extension can make at once, for a server that will most likely ask; nil where the challenge is to be waited for.
    func readyGrant(for target: Target, channelBindings: [UInt8]?) async -> ReadyGrant? {
        guard (try? checkBindings(channelBindings, for: target)) != nil,
            let grant = await credentialExtension.readyGrant(for: request(for: target, channelBindings: channelBindings)),
            Self.fieldSize(grant) <= Self.maximumFieldSize
        else { return nil }
        return ReadyGrant(grant, channelBindings: channelBindings)
    }

    private static func fieldSize(_ grant: AuthorizationGrant) -> Int { grant.headers[.authorization]?.utf8.count ?? 0 }

    /// A ticket that is to be bound is bound or not sent: the other end chooses its certificate, and must not choose it so that none binds.
    private func checkBindings(_ channelBindings: [UInt8]?, for target: Target) throws(AuthorizationError) {
        guard target.bindsChannel, channelBindings == nil, settings.unboundTLS == .refused else { return }
        let message =
            transport.showsCertificates
            ? "\(target.origin) asks for a ticket, and its certificate can't be bound to (RFC 5929 names no hash for its signature). "
                + "Give the server a certificate signed with SHA-256, or name the host in NoChannelBindingHosts."
            : "\(target.origin) asks for a ticket, and this client can't bind it to the server's certificate. "
                + "Allow tickets without channel bindings, name the host in NoChannelBindingHosts, or use a client that shows certificates."
        throw AuthorizationError(.channelBindingsUnavailable, message)
    }

    func request(for target: Target, channelBindings: [UInt8]?) -> AuthorizationRequest {
        AuthorizationRequest(
            url: target.url,
            headers: target.request.fields,
            principal: settings.principal,
            isUserInterfaceEnabled: settings.isUserInterfaceEnabled,
            channelBindings: channelBindings,
            mutualAuthentication: settings.mutualAuthentication
        )
    }
}
