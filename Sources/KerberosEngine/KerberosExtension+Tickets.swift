internal import HTTPNegotiate
internal import Kerberos

internal import struct Foundation.Date

extension KerberosExtension {
    /// The credential that makes tokens for a plan: at hand, or through session, service ticket and a cache of its own.
    func initiatorCredential(
        for plan: AuthorizationPlan,
        request: AuthorizationRequest
    ) async throws(AuthorizationError) -> InitiatorCredential {
        let key = InitiatorStore.Key(realm: plan.realm, principal: request.principal, service: plan.servicePrincipal)
        if let credential = initiators.fresh(key, now: options.clock()) { return credential }
        let mayAsk = request.isUserInterfaceEnabled
        return try await initiators.single(key) { [self] () async throws(AuthorizationError) in
            do throws(KerberosError) {
                return try await makeInitiatorCredential(for: plan, principal: request.principal, key: key, mayAsk: mayAsk)
            } catch {
                throw AuthorizationError(error)
            }
        }
    }

    private func makeInitiatorCredential(
        for plan: AuthorizationPlan,
        principal: String?,
        key: InitiatorStore.Key,
        mayAsk: Bool
    ) async throws(KerberosError) -> InitiatorCredential {
        let session = try await session(for: plan, principal: principal, mayAsk: mayAsk)
        let authenticated = session.ticketGrantingTicket.times.authenticated
        let now = options.clock()
        if let known = initiators.known(key, client: session.principal, authenticated: authenticated, now: now) { return known }
        let client = clients.client(for: session.realm)
        let ticket = try await serviceTicket(for: plan, session: session, client: client)
        let credential = try await client.initiatorCredential(for: ticket)
        initiators.insert(.init(credential: credential, authenticated: authenticated, checked: now), for: key)
        return credential
    }

    private func serviceTicket(
        for plan: AuthorizationPlan,
        session: Session,
        client: KerberosClient
    ) async throws(KerberosError) -> Credential {
        let service = try Principal(service: "HTTP", host: plan.origin.host, realm: plan.serviceRealm(for: session))
        if let ticket = cachedTicket(for: plan, session: session) { return ticket }
        return try await client.serviceTicket(for: service, in: session.cache)
    }

    /// The service ticket of a session's cache, if one is there and can still be used.
    func cachedTicket(for plan: AuthorizationPlan, session: Session) -> Credential? {
        let now = options.clock()
        let ticket = session.ticket(for: ["HTTP", plan.origin.host], realm: plan.serviceRealm(for: session), validAt: now)
        return ticket.flatMap { $0.times.isUsable(at: now) ? $0 : nil }
    }
}

extension AuthorizationPlan {
    /// The realm to name in the request: the profile's mapping; else none, so that the user's KDC finds it; and for a principal of
    /// another realm than the profile's, the profile's.
    func serviceRealm(for session: Session) -> String? {
        serviceRealm ?? (session.realm == realm ? nil : realm)
    }
}
