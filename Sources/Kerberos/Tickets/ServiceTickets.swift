internal import CKerberos

extension KerberosClient {
    /// Gets a service ticket with the ticket-granting ticket of a cache (TGS exchange, RFC 4120 section 3.3), following referrals and
    /// trusts, and stores it in that cache (`krb5_get_credentials`). Returns a valid ticket that is already in the cache.
    ///
    /// A ticket that cannot be stored is returned all the same, for example if the cache's server stops answering during the request.
    ///
    /// - Parameters:
    ///   - service: The service; with an empty realm the KDC is asked for a referral.
    ///   - cache: The cache with the ticket-granting ticket.
    ///   - cachedOnly: Whether to throw `noCredentials` instead of asking the KDC.
    ///   - deadline: How long to wait for a KDC; nil is 10 seconds with one known KDC, else 25, and 25 for a service of another realm after
    ///     a KDC's first reply.
    /// - Throws: ``KerberosError``, with codes such as `unknownService`, `ticketExpired`, `ticketRefused`, `noCredentials`,
    ///   `kdcUnreachable`, `clockSkew`; `cacheUnusable` if the cache's server does not answer.
    public func serviceTicket(
        for service: Principal,
        in cache: CredentialCacheName,
        cachedOnly: Bool = false,
        deadline: Duration? = nil
    ) async throws(KerberosError) -> Credential {
        if cachedOnly {
            return try await perform(on: cache) { context throws(KerberosError) in
                try context.withCacheAndClock(cache) { raw throws(KerberosError) in
                    try context.serviceTicket(for: service, in: raw, options: krb5_flags(KRB5_GC_CACHED))
                }
            }
        }
        let (found, clock) = try await perform(on: cache) { context throws(KerberosError) in
            try context.withCacheAndClock(cache) { raw throws(KerberosError) in
                (try context.find(service, in: raw), context.offset)
            }
        }
        clockOffset.learn(clock)
        switch found {
        case .ticket(let ticket): return ticket
        case .none(let draft): return try await newServiceTicket(for: service, with: drafts.shared(draft), deadline: deadline)
        }
    }

    private func newServiceTicket(
        for service: Principal,
        with draft: DraftCache,
        deadline: Duration?
    ) async throws(KerberosError) -> Credential {
        do throws(KerberosError) {
            let ticket = try await requestedTicket(for: service, with: draft, deadline: deadline)
            await store(ticket, with: draft)
            return ticket
        } catch {
            // A request that failed may have acquired tickets for other realms.
            await store(with: draft)
            throw error
        }
    }

    /// Gets a service ticket from the KDC, without storing it in a cache other than the draft.
    private func requestedTicket(
        for service: Principal,
        with draft: DraftCache,
        deadline: Duration?
    ) async throws(KerberosError) -> Credential {
        try await performThroughTrusts(subject: service.displayName, realm: service.realm, deadline: deadline) {
            context,
            _ throws(KerberosError) in
            try context.withDraft(draft) { raw throws(KerberosError) in try context.serviceTicket(for: service, in: raw, options: 0) }
        }
    }

    /// Gets a service ticket that contains authorization data from the client (RFC 4120 section 5.2.6), which the KDC copies, whatever the
    /// cache holds, without storing it. For tests that require tickets as large as those of a directory with many groups.
    package func serviceTicket(
        for service: Principal,
        in cache: CredentialCacheName,
        authorizationData: [UInt8]
    ) async throws(KerberosError) -> Credential {
        let draft = try await draft(of: cache)
        return try await performOnNetwork(subject: service.displayName, deadline: nil) { context, _ throws(KerberosError) in
            try context.withDraft(draft) { raw throws(KerberosError) in
                try context.serviceTicket(for: service, in: raw, options: 0, authorizationData: authorizationData)
            }
        }
    }
}

/// A cache's ticket for a service.
private enum CachedServiceTicket {
    case ticket(Credential)
    /// There is none. The draft is for the request to the KDC.
    case none(DraftCache)
}

extension Context {
    /// Looks for a service ticket in an open cache, without a request to the KDC.
    fileprivate func find(_ service: Principal, in cache: krb5_ccache) throws(KerberosError) -> CachedServiceTicket {
        do throws(KerberosError) {
            return .ticket(try serviceTicket(for: service, in: cache, options: krb5_flags(KRB5_GC_CACHED)))
        } catch  where [Int(KRB5_CC_NOTFOUND), Int(KRB5_CC_NOT_KTYPE)].contains(Int(error.libraryCode)) {
            return .none(try draft(of: cache))
        }
    }

    /// Gets a service ticket from an open cache, or from the KDC with the cache's ticket-granting ticket.
    fileprivate func serviceTicket(
        for service: Principal,
        in cache: krb5_ccache,
        options: krb5_flags,
        authorizationData: [UInt8] = []
    ) throws(KerberosError) -> Credential {
        let client = try principal(of: cache)
        return try client.withRaw(in: self) { rawClient throws(KerberosError) in
            try service.withRaw(in: self) { rawService throws(KerberosError) in
                var request = krb5_creds()
                request.client = rawClient
                request.server = rawService
                var credential: UnsafeMutablePointer<krb5_creds>?
                let status = Self.withAuthorizationData(authorizationData, in: &request) { request in
                    krb5_get_credentials(raw, options, cache, request, &credential)
                }
                try check(status, .getServiceTicket, subject: service.displayName, client: client.description)
                guard let credential else {
                    throw KerberosError(.noCredentials, subject: service.displayName, message: "there is no ticket.")
                }
                defer { krb5_free_creds(raw, credential) }
                // The ticket contains it. If it is stored next to the ticket as well, lookups without it skip the ticket.
                krb5_free_authdata(raw, credential.pointee.authdata)
                credential.pointee.authdata = nil
                return try Credential(copying: &credential.pointee, context: self)
            }
        }
    }

    /// Lends a request with one item of authorization data, of a type that acceptors do not know.
    private static func withAuthorizationData<Value>(
        _ bytes: [UInt8],
        in request: inout krb5_creds,
        _ body: (UnsafeMutablePointer<krb5_creds>) -> Value
    ) -> Value {
        guard !bytes.isEmpty else { return body(&request) }
        return bytes.withUnsafeBufferPointer { buffer in
            var data = krb5_authdata()
            data.ad_type = -1000
            data.length = UInt32(buffer.count)
            data.contents = UnsafeMutablePointer(mutating: buffer.baseAddress)
            return withUnsafeMutablePointer(to: &data) { data in
                var list: [UnsafeMutablePointer<krb5_authdata>?] = [data, nil]
                return list.withUnsafeMutableBufferPointer { list in
                    request.authdata = list.baseAddress
                    return body(&request)
                }
            }
        }
    }
}

extension KerberosClient {
    /// Gets a service ticket from the KDC, whatever the cache holds, and replaces those of the same client that the predicate selects,
    /// because the service's key may have changed since. They stay if the KDC issues none.
    ///
    /// - Parameters:
    ///   - service: The service; with an empty realm the KDC is asked for a referral.
    ///   - cache: The cache with the ticket-granting ticket.
    ///   - deadline: As for ``serviceTicket(for:in:cachedOnly:deadline:)``.
    ///   - isReplaced: Whether to replace tickets for a service.
    /// - Throws: As ``serviceTicket(for:in:cachedOnly:deadline:)`` does; `noCredentials` if another principal has signed in to this cache
    ///   in the meantime, and the error of the cache if the new ticket cannot be stored.
    package func replaceServiceTicket(
        for service: Principal,
        in cache: CredentialCacheName,
        deadline: Duration? = nil,
        where isReplaced: @escaping @Sendable (Principal) -> Bool
    ) async throws(KerberosError) -> Credential {
        let draft = try await perform(on: cache) { context throws(KerberosError) in
            try context.withCacheAndClock(cache) { raw throws(KerberosError) in try context.freshDraft(of: raw) }
        }
        clockOffset.learn(draft.clock)
        let fresh = try await requestedTicket(for: service, with: draft, deadline: deadline)
        try await perform(on: draft.original) { context throws(KerberosError) in
            // The cache may have to be rewritten, with its clock offset.
            try context.withCacheAndClock(draft.original) { raw throws(KerberosError) in
                try context.put(fresh, in: raw, where: isReplaced)
            }
        }
        return fresh
    }
}

extension Context {
    /// Copies only the ticket-granting ticket of the client's own realm, so that tickets for other realms are requested again too.
    fileprivate func freshDraft(of cache: krb5_ccache) throws(KerberosError) -> DraftCache {
        let client = try principal(of: cache)
        let ticket = try lastCredential(in: cache, for: client) { server, _ in server.isTicketGrantingService(of: client.realm) }
        guard let ticket else {
            throw KerberosError(.noCredentials, subject: try name(of: cache).rawValue, message: "there is no ticket. Sign in first.")
        }
        return try draft(of: ticket, in: cache)
    }

    /// Replaces tickets with a new one. If the cache type or its server cannot remove tickets, rewrites the whole cache.
    fileprivate func put(
        _ ticket: Credential,
        in cache: krb5_ccache,
        where isReplaced: (Principal) -> Bool
    ) throws(KerberosError) {
        // Another program may have added tickets, or signed in, during the request to the KDC.
        let contents = try contents(of: cache)
        guard contents.principal == ticket.client else {
            throw KerberosError(
                .noCredentials,
                subject: contents.name.rawValue,
                message:
                    "\(contents.principal) has signed in to this cache in the meantime. The new ticket of \(ticket.client) was discarded."
            )
        }
        let former = contents.credentials.filter { $0.client == ticket.client && isReplaced($0.server) }
        var isRemoved = true
        for ticket in former where isRemoved { isRemoved = try remove(ticket, from: cache) }
        guard !isRemoved else { return try store(ticket, in: cache) }
        try KerberosClient.replace(
            contents.name,
            principal: contents.principal,
            credentials: contents.credentials.filter { $0.client != ticket.client || !isReplaced($0.server) } + [ticket] + contents.notes,
            marks: contents.marks,
            context: self
        )
    }

    /// Removes a ticket; false if the cache cannot.
    private func remove(_ ticket: Credential, from cache: krb5_ccache) throws(KerberosError) -> Bool {
        try ticket.withRaw(in: self) { raw in
            krb5_cc_remove_cred(self.raw, cache, krb5_flags(KRB5_TC_MATCH_TIMES_EXACT | KRB5_TC_MATCH_KTYPE), raw) == 0
        }
    }
}
