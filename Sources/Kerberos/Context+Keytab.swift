internal import CKerberos

extension Context {
    /// Opens the keytab of a source for the length of the call.
    func withKeytab<Value>(
        _ source: InitialCredentialSource,
        subject: String,
        _ body: (krb5_keytab) throws(KerberosError) -> Value
    ) throws(KerberosError) -> Value {
        var keytab: krb5_keytab?
        switch source {
        case .keytab(let name): try check(krb5_kt_resolve(raw, name, &keytab), .readKeytab, subject: name)
        case .clientKeytab: try check(krb5_kt_client_default(raw, &keytab), .readKeytab, subject: subject)
        case .password, .prompter, .certificate: break
        }
        guard let keytab else { throw KerberosError(.keytabUnusable, subject: subject, message: "no keytab is named.") }
        defer { krb5_kt_close(raw, keytab) }
        // Says "not there" or "empty" in so many words, before libkrb5 answers that some key was not found.
        try check(krb5_kt_have_content(raw, keytab), .readKeytab, subject: keytabName(keytab))
        return try body(keytab)
    }

    /// The principal of the first entry.
    func firstPrincipal(in keytab: krb5_keytab) throws(KerberosError) -> Principal {
        let subject = keytabName(keytab)
        var cursor: krb5_kt_cursor?
        try check(krb5_kt_start_seq_get(raw, keytab, &cursor), .readKeytab, subject: subject)
        defer { krb5_kt_end_seq_get(raw, keytab, &cursor) }
        var entry = krb5_keytab_entry()
        try check(krb5_kt_next_entry(raw, keytab, &entry, &cursor), .readKeytab, subject: subject)
        defer { krb5_free_keytab_entry_contents(raw, &entry) }
        return try Principal(copying: entry.principal, context: self)
    }

    private func keytabName(_ keytab: krb5_keytab) -> String {
        withUnsafeTemporaryAllocation(of: CChar.self, capacity: 4096) { buffer in
            guard let start = buffer.baseAddress, krb5_kt_get_name(raw, keytab, start, UInt32(buffer.count)) == 0 else { return "keytab" }
            return String(cString: start)
        }
    }
}
