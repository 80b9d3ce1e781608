internal import CKerberos

internal import struct Foundation.UUID

/// A `MEMORY:` keytab with a unique name in this process; its keys are removed when it is deinitialized. It can be used from any thread.
public final class MemoryKeytab: Sendable {
    /// The name, for every API that takes a keytab: ``AcceptorCredential``, ``InitialCredentialSource/keytab(_:)``.
    public let name: String
    /// libkrb5 counts open handles and removes the keys with the last one.
    private let handle: Handle

    /// Copies all entries of a keytab: a path, or a name such as `FILE:/etc/app.keytab`.
    ///
    /// - Throws: ``KerberosError`` if the keytab is missing or empty.
    public init(copying original: String) throws(KerberosError) {
        let context = try Context(RealmConfiguration(realm: "", base: .none))
        let name = "MEMORY:\(UUID().uuidString)"
        var keytab: krb5_keytab?
        try context.check(krb5_kt_resolve(context.raw, name, &keytab), .readKeytab, subject: name)
        guard let keytab else { throw KerberosError(.keytabUnusable, subject: name, message: "no keytab can be created.") }
        handle = Handle(context: context, keytab: keytab)
        self.name = name
        try context.withKeytab(.keytab(original), subject: original) { source throws(KerberosError) in
            try context.copyEntries(of: source, to: keytab, subject: original)
        }
    }

    /// `@unchecked Sendable`: only `init` and `deinit` use it, and they never run at the same time.
    private final class Handle: @unchecked Sendable {
        let context: Context
        let keytab: krb5_keytab

        init(context: Context, keytab: krb5_keytab) {
            self.context = context
            self.keytab = keytab
        }

        deinit { ProcessEnd.free { krb5_kt_close(context.raw, keytab) } }
    }
}

extension Context {
    fileprivate func copyEntries(of source: krb5_keytab, to target: krb5_keytab, subject: String) throws(KerberosError) {
        var cursor: krb5_kt_cursor?
        try check(krb5_kt_start_seq_get(raw, source, &cursor), .readKeytab, subject: subject)
        defer { krb5_kt_end_seq_get(raw, source, &cursor) }
        while true {
            var entry = krb5_keytab_entry()
            let status = krb5_kt_next_entry(raw, source, &entry, &cursor)
            if status == KRB5_KT_END { return }
            try check(status, .readKeytab, subject: subject)
            defer { krb5_free_keytab_entry_contents(raw, &entry) }
            try check(krb5_kt_add_entry(raw, target, &entry), .readKeytab, subject: subject)
        }
    }
}

extension Context {
    /// Opens the keytab of a source for the duration of the call.
    func withKeytab<Value>(
        _ source: InitialCredentialSource,
        subject: String,
        _ body: (krb5_keytab) throws(KerberosError) -> Value
    ) throws(KerberosError) -> Value {
        var keytab: krb5_keytab?
        switch source {
        case .keytab(let name): try check(krb5_kt_resolve(raw, name, &keytab), .readKeytab, subject: name)
        case .clientKeytab: try check(krb5_kt_client_default(raw, &keytab), .readKeytab, subject: subject)
        default: break
        }
        guard let keytab else { throw KerberosError(.keytabUnusable, subject: subject, message: "no keytab is given.") }
        defer { krb5_kt_close(raw, keytab) }
        // Reports a missing or empty keytab as such; later libkrb5 would report a missing key.
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
