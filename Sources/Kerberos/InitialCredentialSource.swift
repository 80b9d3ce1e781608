/// With what a principal proves itself to the KDC.
public enum InitialCredentialSource: Sendable {
    /// A password that is at hand. It is sent once.
    case password(Secret)
    /// Somebody who answers what libkrb5 asks: asked only after the KDC has said that it knows the principal.
    case prompter(any Prompter)
    /// A certificate or smart card (PKINIT, RFC 4556), as libkrb5 names it: `FILE:cert.pem,key.pem`, `PKCS12:file`, `PKCS11:`; nil is
    /// krb5.conf's `pkinit_identities`. The prompter is asked for a PIN alone, and no password is ever tried in the certificate's place.
    case certificate(String?, any Prompter)
    /// A keytab: a path, or a name such as `FILE:/etc/app.keytab`.
    case keytab(String)
    /// The keytab that `KRB5_CLIENT_KTNAME` or krb5.conf's `default_client_keytab_name` names.
    case clientKeytab
}
