internal import CKerberos

extension Context {
    /// The last ticket in a cache that belongs to the client and whose service name and times satisfy the predicate.
    ///
    /// Ignores tickets that libkrb5 would not use for the service's own key: those for user-to-user authentication, postdated ones that are
    /// not validated, and those with a key of a type that krb5.conf does not permit.
    func lastCredential(
        in cache: krb5_ccache,
        for client: Principal,
        where isWanted: (Principal, TicketTimes) -> Bool
    ) throws(KerberosError) -> Credential? {
        let permittedTypes = try permittedKeyTypes()
        var found: Credential?
        try forEachCredential(in: cache) { (raw: inout krb5_creds) throws(KerberosError) in
            guard krb5_is_config_principal(self.raw, raw.server) == 0,
                try isWanted(Credential.server(of: raw, context: self), TicketTimes(raw.times)),
                try Principal(copying: raw.client, context: self) == client,
                raw.is_skey == 0, raw.second_ticket.length == 0, !raw.needsValidation,
                permittedTypes.contains(raw.keyblock.enctype)
            else { return }
            found = try Credential(copying: &raw, context: self)
        }
        return found
    }

    /// The types of session keys that krb5.conf permits (`krb5_get_permitted_enctypes`).
    private func permittedKeyTypes() throws(KerberosError) -> [krb5_enctype] {
        var types: UnsafeMutablePointer<krb5_enctype>?
        try check(krb5_get_permitted_enctypes(raw, &types), .readConfiguration, subject: "permitted_enctypes")
        defer { krb5_free_enctypes(raw, types) }
        guard let types else { return [] }
        // The list ends with zero.
        return Array(UnsafeBufferPointer(start: types, count: (0...).first { types[$0] == 0 } ?? 0))
    }
}

extension krb5_creds {
    /// Whether the KDC must validate the ticket before its first use (RFC 4120 section 2.2).
    var needsValidation: Bool { ticket_flags & krb5_flags(TKT_FLG_INVALID) != 0 }
}
