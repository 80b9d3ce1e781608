/// With what a principal proves itself to the KDC.
public enum InitialCredentialSource: Sendable {
    /// A password that is at hand. It is sent once.
    case password(Secret)
    /// Somebody who answers what libkrb5 asks: asked only after the KDC has said that it knows the principal.
    case prompter(any Prompter)
    /// A keytab: a path, or a name such as `FILE:/etc/app.keytab`.
    case keytab(String)
    /// The keytab that `KRB5_CLIENT_KTNAME` or krb5.conf's `default_client_keytab_name` names.
    case clientKeytab
}
