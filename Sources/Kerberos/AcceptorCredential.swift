internal import CKerberos

/// A service's keys, ready to accept contexts. Use it from any thread.
public final class AcceptorCredential: Sendable {
    let handle: GSSCredentialHandle
    let keytab: String

    /// Whether tokens that come twice are refused.
    public enum ReplayCache: Sendable {
        /// libkrb5's replay cache, on disk: the safe choice.
        case standard
        /// None: for tests, and where each context ends with mutual authentication over TLS.
        case disabled
    }

    /// Opens a keytab. The keys of every principal in it are accepted.
    ///
    /// - Throws: ``KerberosError`` when the keytab is not there, empty, or the process's krb5.conf is broken.
    public init(keytab: String, replayCache: ReplayCache = .standard) throws(KerberosError) {
        // GSSAPI has one text for all faults of a keytab, and it speaks of mechanisms.
        let context = try Context(RealmConfiguration(realm: "", base: .none))
        try context.withKeytab(.keytab(keytab), subject: keytab) { _ in }
        var store = [("keytab", keytab)]
        if replayCache == .disabled { store.append(("rcache", "none:")) }
        self.keytab = keytab
        handle = try GSSCredentialHandle(usage: GSS_C_ACCEPT, store: store, subject: keytab)
    }
}
