internal import CKerberos

extension Context {
    /// Has an exchange protected by the ticket of ``armorCache`` (`krb5_get_init_creds_opt_set_fast_ccache_name`), or fail.
    func protect(_ options: UnsafeMutablePointer<krb5_get_init_creds_opt>?) throws(KerberosError) {
        guard let armorCache else { return }
        let name = armorCache.rawValue
        try checkOwnership(ofArmor: armorCache)
        try check(krb5_get_init_creds_opt_set_fast_ccache_name(raw, options, name), .signIn, subject: name)
        // A KDC that says it knows no FAST may be somebody who wants to see the sign-in unprotected.
        let flags = krb5_flags(KRB5_FAST_REQUIRED)
        try check(krb5_get_init_creds_opt_set_fast_flags(raw, options, flags), .signIn, subject: name)
    }

    /// Throws where somebody else could have put the ticket there: he knows its key, and would read what it protects.
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
        // The one that is the collection's primary.
        try CacheFileOwnership.checkArmor(try self.name(of: cache))
    }
}

extension KerberosError {
    /// Whether it is the protecting ticket that can't be read, or that the KDC can't read, in a sign-in that has one: no other cache has a part in
    /// it, and a KDC that refuses what is protected does so by other codes.
    var isOfArmor: Bool {
        let codes = [
            KRB5_FCC_NOFILE, KRB5_FCC_PERM, KRB5_FCC_INTERNAL, KRB5_CC_NOTFOUND, KRB5_CC_END, KRB5_CC_FORMAT, KRB5_CCACHE_BADVNO,
            KRB5_CC_UNKNOWN_TYPE, KRB5_KCM_NO_SERVER, KRB5KRB_AP_ERR_BAD_INTEGRITY, KRB5KRB_AP_ERR_MODIFIED, KRB5KRB_AP_ERR_NOKEY,
            KRB5KRB_AP_ERR_BADKEYVER, KRB5KRB_AP_ERR_TKT_NYV, KRB5KRB_AP_ERR_TKT_EXPIRED,
        ]
        return codes.contains { Int($0) == Int(libraryCode) }
    }

    /// The same failure, which is that of the ticket that protects the sign-in.
    func ofArmor(_ cache: CredentialCacheName) -> KerberosError {
        let message =
            "the ticket that protects the sign-in can't be used (\(libraryMessage)). Get one that you may read into \(cache) first: with "
            + "the machine's key, kinit -k -c \(cache); or without any, kinit -n -c \(cache)."
        return KerberosError(.armorUnusable, subject: subject, message: message, libraryCode: libraryCode, libraryMessage: libraryMessage)
    }
}
