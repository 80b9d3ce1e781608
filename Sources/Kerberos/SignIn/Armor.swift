internal import CKerberos

extension KerberosClient {
    /// Runs a call that requests initial tickets, with a copy of the armor ticket if ``RealmConfiguration/armorCache`` is set. Stores the
    /// tickets for other realms that the armor required.
    ///
    /// - Throws: ``KerberosError``; `armorUnusable` if the cache cannot be read, `cacheUnusable` if its server does not answer.
    func performWithArmor<Value: Sendable>(
        subject: String,
        deadline: Duration?,
        _ body: @escaping @Sendable (Context, DraftCache?, CallDeadline) throws(KerberosError) -> Value
    ) async throws(KerberosError) -> Value {
        let armor = try await armor(subject: subject)
        let result: Result<Value, KerberosError>
        do throws(KerberosError) {
            let value = try await performOnNetwork(subject: subject, deadline: deadline) { context, deadline throws(KerberosError) in
                try body(context, armor, deadline)
            }
            result = .success(value)
        } catch {
            result = .failure(error)
        }
        if let armor { await store(with: armor, isArmor: true) }
        return try result.get()
    }

    private func armor(subject: String) async throws(KerberosError) -> DraftCache? {
        guard let name = configuration.armorCache else { return nil }
        return try await perform(on: name) { context throws(KerberosError) in
            do throws(KerberosError) {
                return try context.withCacheAndClock(name, isArmor: true) { cache throws(KerberosError) in try context.draft(of: cache) }
            } catch {
                throw context.isOfArmor(error) ? error.about(subject).ofArmor(name) : error
            }
        }
    }
}

extension Context {
    /// Requires FAST with a copy of the ticket of ``armorCache`` as armor (`krb5_get_init_creds_opt_set_fast_ccache_name`).
    func protect(
        _ options: UnsafeMutablePointer<krb5_get_init_creds_opt>?,
        with armor: DraftCache?
    ) throws(KerberosError) {
        guard let armor else { return }
        let name = armor.name.rawValue
        try check(krb5_get_init_creds_opt_set_fast_ccache_name(raw, options, name), .signIn, subject: armor.original.rawValue)
        // A KDC that claims not to support FAST may be an attacker who wants an unprotected sign-in.
        let flags = krb5_flags(KRB5_FAST_REQUIRED)
        try check(krb5_get_init_creds_opt_set_fast_flags(raw, options, flags), .signIn, subject: armor.original.rawValue)
    }

    /// Throws if another user could have created the armor ticket: that user knows its key, and could read what it protects.
    func checkOwnership(ofArmor name: CredentialCacheName) throws(KerberosError) {
        try CacheFileOwnership.checkArmor(name)
        guard name.type == "DIR", name.isCollection else { return }
        var cache: krb5_ccache?
        do throws(KerberosError) {
            try check(krb5_cc_resolve(raw, name.rawValue, &cache), .readCache, subject: name.rawValue)
        } catch {
            throw error.ofArmor(name)
        }
        guard let cache else { return }
        defer { krb5_cc_close(raw, cache) }
        // The collection's primary cache.
        try CacheFileOwnership.checkArmor(try self.name(of: cache))
    }

    /// Whether a sign-in with armor failed because of its ticket: the client or the KDC cannot read it. No other cache is used in such a
    /// sign-in, and inside the armor the KDC uses other codes. A client without pre-authentication is sent a ticket anyway: if that cannot
    /// be read, the password is wrong.
    func isOfArmor(_ error: KerberosError) -> Bool {
        KerberosError.codesOfArmor.contains(Int(error.libraryCode)) && replies?.lastIsTicket != true
    }

    /// Runs a sign-in by the clock of the KDC that issued the armor ticket. On a clock skew error, retries with the context's own offset,
    /// then with this machine's clock. The armor contains a time, which the KDC checks first, and its error does not contain the KDC's.
    func withClock<Value>(
        of armor: DraftCache?,
        _ body: () throws(KerberosError) -> Value
    ) throws(KerberosError) -> Value {
        guard let armor else { return try body() }
        let own = offset
        var tried: Set<krb5_timestamp> = []
        var skew: KerberosError?
        let clocks: [Offset] = [armor.clock, own, (0, 0)]
        for clock in clocks where tried.insert(clock.seconds).inserted {
            setClock(clock)
            do throws(KerberosError) {
                return try body()
            } catch {
                guard error.code == .clockSkew else {
                    setClock(own)
                    throw error
                }
                skew = skew ?? error
            }
        }
        setClock(own)
        throw skew ?? KerberosError(.clockSkew, subject: armor.original.rawValue, message: "the clocks differ.")
    }
}

extension KerberosError {
    fileprivate static let codesOfArmor = [
        KRB5_FCC_NOFILE, KRB5_FCC_PERM, KRB5_FCC_INTERNAL, KRB5_CC_NOTFOUND, KRB5_CC_END, KRB5_CC_FORMAT, KRB5_CCACHE_BADVNO,
        KRB5_CC_UNKNOWN_TYPE, KRB5_KCM_NO_SERVER, KRB5KRB_AP_ERR_BAD_INTEGRITY, KRB5KRB_AP_ERR_MODIFIED, KRB5KRB_AP_ERR_NOKEY,
        KRB5KRB_AP_ERR_BADKEYVER, KRB5KRB_AP_ERR_TKT_NYV, KRB5KRB_AP_ERR_TKT_EXPIRED,
    ].map { Int($0) }

    /// The same failure, as one of the armor ticket.
    func ofArmor(_ cache: CredentialCacheName) -> KerberosError {
        let message =
            "the armor ticket (FAST) cannot be used (\(libraryMessage)). Fetch one into \(cache) that you can read: with "
            + "the host keytab, kinit -k -c \(cache); or anonymously, kinit -n -c \(cache)."
        return KerberosError(.armorUnusable, subject: subject, message: message, libraryCode: libraryCode, libraryMessage: libraryMessage)
    }
}
