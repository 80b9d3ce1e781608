/// A certificate with which a user signs in (PKINIT, RFC 4556), and its key. The files go with the realm.
public struct ClientCertificate: Sendable, Hashable {
    /// The certificate, in PEM.
    public let certificatePath: String
    /// The key, in PEM, without a password.
    public let keyPath: String
    /// Both as krb5.conf and `kinit -X X509_user_identity=…` name them: `FILE:` and the two paths, or `PKCS12:` and the path of a file that
    /// wants its PIN.
    public let identity: String
}
