internal import CKerberos

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
