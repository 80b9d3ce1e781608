internal import CKerberos

/// The entries of a keytab, without the keys themselves.
package struct KeytabContents: Sendable, Hashable {
    /// The keytab's name, type and residual.
    package let name: String
    /// The entries in the keytab's order.
    package let entries: [Entry]

    /// A keytab entry.
    package struct Entry: Sendable, Hashable {
        /// The principal.
        package let principal: Principal
        /// The key's version and encryption type.
        package let key: TicketKey
    }
}

/// Identifies one of a service's keys.
package struct TicketKey: Sendable, Hashable, CustomStringConvertible {
    /// The key version number (kvno).
    package let version: UInt32
    /// The encryption type's registered name, as libkrb5 writes it.
    package let encryptionType: String

    /// Version and encryption type, for messages.
    package var description: String { "kvno \(version), \(encryptionType)" }

    /// The names in IANA's registry; libkrb5's own table is in a library that is not linked.
    static func name(ofEncryptionType number: Int32) -> String {
        switch number {
        case 16: "des3-cbc-sha1"
        case 17: "aes128-cts-hmac-sha1-96"
        case 18: "aes256-cts-hmac-sha1-96"
        case 19: "aes128-cts-hmac-sha256-128"
        case 20: "aes256-cts-hmac-sha384-192"
        case 23: "arcfour-hmac"
        case 25: "camellia128-cts-cmac"
        case 26: "camellia256-cts-cmac"
        default: "encryption type \(number)"
        }
    }
}

extension KerberosClient {
    /// Reads a keytab; nil is the default keytab of services (`KRB5_KTNAME`, krb5.conf, `/etc/krb5.keytab`).
    ///
    /// - Throws: ``KerberosError``; `keytabUnusable` if the keytab is missing or cannot be read.
    package func keytabContents(_ name: String?) async throws(KerberosError) -> KeytabContents {
        try await perform { context throws(KerberosError) in
            let name = if let name { name } else { try context.defaultKeytabName() }
            let entries = try context.withKeytab(.keytab(name), subject: name) { keytab throws(KerberosError) in
                try context.entries(of: keytab, named: name)
            }
            return KeytabContents(name: name, entries: entries)
        }
    }

    /// The key that a service ticket is encrypted with.
    package func key(of ticket: Credential) async throws(KerberosError) -> TicketKey {
        try await perform { context throws(KerberosError) in
            try context.withTicket(of: ticket) { raw throws(KerberosError) in
                TicketKey(
                    version: raw.pointee.enc_part.kvno,
                    encryptionType: TicketKey.name(ofEncryptionType: raw.pointee.enc_part.enctype)
                )
            }
        }
    }

    /// Decrypts a service ticket with a keytab, as the service would (`krb5_server_decrypt_ticket_keytab`).
    ///
    /// - Throws: ``KerberosError``; `keytabUnusable` if the keytab cannot be read, or an error with libkrb5's text if none of its keys
    ///   decrypts the ticket.
    package func checkDecryption(of ticket: Credential, with keytab: String) async throws(KerberosError) {
        try await perform { context throws(KerberosError) in
            try context.withKeytab(.keytab(keytab), subject: keytab) { rawKeytab throws(KerberosError) in
                try context.withTicket(of: ticket) { raw throws(KerberosError) in
                    let status = krb5_server_decrypt_ticket_keytab(context.raw, rawKeytab, raw)
                    try context.check(status, .signInWithKeytab, subject: keytab)
                }
            }
        }
    }
}

extension Context {
    fileprivate func defaultKeytabName() throws(KerberosError) -> String {
        var name = [CChar](repeating: 0, count: 4096)
        try check(krb5_kt_default_name(raw, &name, Int32(name.count)), .readKeytab, subject: "keytab")
        return String(decoding: name.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    fileprivate func entries(of keytab: krb5_keytab, named name: String) throws(KerberosError) -> [KeytabContents.Entry] {
        var cursor: krb5_kt_cursor?
        try check(krb5_kt_start_seq_get(raw, keytab, &cursor), .readKeytab, subject: name)
        defer { krb5_kt_end_seq_get(raw, keytab, &cursor) }
        var entries: [KeytabContents.Entry] = []
        var entry = krb5_keytab_entry()
        while krb5_kt_next_entry(raw, keytab, &entry, &cursor) == 0 {
            defer { krb5_free_keytab_entry_contents(raw, &entry) }
            let key = TicketKey(version: entry.vno, encryptionType: TicketKey.name(ofEncryptionType: entry.key.enctype))
            entries.append(KeytabContents.Entry(principal: try Principal(copying: entry.principal, context: self), key: key))
        }
        return entries
    }

    fileprivate func withTicket<Value>(
        of credential: Credential,
        _ body: (UnsafeMutablePointer<krb5_ticket>) throws(KerberosError) -> Value
    ) throws(KerberosError) -> Value {
        try credential.withRaw(in: self) { credentials throws(KerberosError) in
            var ticket: UnsafeMutablePointer<krb5_ticket>?
            try check(krb5_decode_ticket(&credentials.pointee.ticket, &ticket), .readCache, subject: credential.server.description)
            guard let ticket else {
                throw KerberosError(.other, subject: credential.server.description, message: "the ticket cannot be read.")
            }
            defer { krb5_free_ticket(raw, ticket) }
            return try body(ticket)
        }
    }
}
