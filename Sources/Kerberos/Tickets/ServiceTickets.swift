internal import CKerberos

extension KerberosClient {
    /// Gets a service ticket with the ticket-granting ticket of a cache (TGS exchange, RFC 4120 section 3.3), referrals and trusts
    /// included, and leaves it in that cache (`krb5_get_credentials`). A valid one that is there already is taken as it is.
    ///
    /// - Parameters:
    ///   - service: the service; with an empty realm the KDC is asked where it is.
    ///   - cache: the cache of the ticket-granting ticket.
    ///   - cachedOnly: never ask the KDC: what is not in the cache is `noCredentials`.
    ///   - deadline: how long to wait for a KDC; nil is 10 seconds with one KDC known, else 25; and 25 for
    ///     a service of another realm once a KDC has answered.
    /// - Throws: ``KerberosError``; among its codes `unknownService`, `ticketExpired`, `ticketRefused`, `noCredentials`, `kdcUnreachable`,
    ///   `clockSkew`.
    public func serviceTicket(
        for service: Principal,
        in cache: CredentialCacheName,
        cachedOnly: Bool = false,
        deadline: Duration? = nil
    ) async throws(KerberosError) -> Credential {
        if cachedOnly {
            return try await perform { context throws(KerberosError) in
                try context.serviceTicket(for: service, in: cache, options: krb5_flags(KRB5_GC_CACHED))
            }
        }
        return try await performThroughTrusts(subject: service.displayName, realm: service.realm, deadline: deadline) {
            context,
            _ throws(KerberosError) in
            try context.serviceTicket(for: service, in: cache, options: 0)
        }
    }

    /// Gets a service ticket that has a piece of authorization data of the client's in it (RFC 4120 section 5.2.6), whatever the cache
    /// holds: the KDC copies it. For tests, which want tickets as large as those of a directory with many groups.
    package func serviceTicket(
        for service: Principal,
        in cache: CredentialCacheName,
        authorizationData: [UInt8]
    ) async throws(KerberosError) -> Credential {
        try await performOnNetwork(subject: service.displayName, deadline: nil) { context, _ throws(KerberosError) in
            try context.serviceTicket(for: service, in: cache, options: 0, authorizationData: authorizationData)
        }
    }
}

extension Context {
    fileprivate func serviceTicket(
        for service: Principal,
        in name: CredentialCacheName,
        options: krb5_flags,
        authorizationData: [UInt8] = []
    ) throws(KerberosError) -> Credential {
        try withCacheAndClock(name) { cache throws(KerberosError) in
            try serviceTicket(for: service, in: cache, options: options, authorizationData: authorizationData)
        }
    }

    /// A service ticket out of an open cache, or from the KDC by the ticket-granting ticket in it.
    func serviceTicket(
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
                // It is in the ticket now. Beside it, it would keep the ticket from those who ask for one without.
                krb5_free_authdata(raw, credential.pointee.authdata)
                credential.pointee.authdata = nil
                return try Credential(copying: &credential.pointee, context: self)
            }
        }
    }

    /// Lends a request with one piece of authorization data, of a type that no acceptor knows.
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
    /// Gets a service ticket from the KDC, whatever the cache holds, and puts it in the place of those of the same client that the body
    /// names: the service may have another key since they were issued. They stay if the KDC gives none.
    ///
    /// - Parameters:
    ///   - service: the service; with an empty realm the KDC is asked where it is.
    ///   - cache: the cache of the ticket-granting ticket.
    ///   - deadline: as for ``serviceTicket(for:in:cachedOnly:deadline:)``.
    ///   - isReplaced: whether tickets for a service are to be replaced.
    /// - Throws: as ``serviceTicket(for:in:cachedOnly:deadline:)`` does; `noCredentials` if another principal has signed in there in the
    ///   meantime.
    package func replaceServiceTicket(
        for service: Principal,
        in cache: CredentialCacheName,
        deadline: Duration? = nil,
        where isReplaced: @escaping @Sendable (Principal) -> Bool
    ) async throws(KerberosError) -> Credential {
        try await performThroughTrusts(subject: service.displayName, realm: service.realm, deadline: deadline) {
            context,
            _ throws(KerberosError) in
            try context.withCacheAndClock(cache) { raw throws(KerberosError) in
                let fresh = try context.freshServiceTicket(for: service, with: try context.contents(of: raw))
                try context.put(fresh, in: raw, where: isReplaced)
                return fresh
            }
        }
    }
}

extension Context {
    /// Asks the KDC, over a cache of its own in which libkrb5 finds the ticket-granting ticket and nothing else.
    fileprivate func freshServiceTicket(
        for service: Principal,
        with contents: CredentialCacheContents
    ) throws(KerberosError) -> Credential {
        guard let ticket = contents.ticketGrantingTicket else {
            throw KerberosError(.noCredentials, subject: contents.name.rawValue, message: "there is no ticket. Sign in first.")
        }
        let draft = try MemoryCache(holding: [ticket], context: self)
        return try withExtendedLifetime(draft) { () throws(KerberosError) in
            try withCache(draft.name) { cache throws(KerberosError) in try serviceTicket(for: service, in: cache, options: 0) }
        }
    }

    /// Puts a ticket in the place of others. Where the cache's type can't remove one, or what serves it can't, the whole cache is filled
    /// anew.
    fileprivate func put(
        _ ticket: Credential,
        in cache: krb5_ccache,
        where isReplaced: (Principal) -> Bool
    ) throws(KerberosError) {
        // Another program may have added tickets while the KDC was asked, or signed in.
        let contents = try contents(of: cache)
        guard contents.principal == ticket.client else {
            throw KerberosError(
                .noCredentials,
                subject: contents.name.rawValue,
                message: "\(contents.principal) has signed in there meanwhile. The new ticket of \(ticket.client) was dropped."
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

    /// False where the cache can't remove a ticket.
    private func remove(_ ticket: Credential, from cache: krb5_ccache) throws(KerberosError) -> Bool {
        try ticket.withRaw(in: self) { raw in
            krb5_cc_remove_cred(self.raw, cache, krb5_flags(KRB5_TC_MATCH_TIMES_EXACT | KRB5_TC_MATCH_KTYPE), raw) == 0
        }
    }
}
