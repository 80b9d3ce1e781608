/// With what a user may sign in to a realm, and what is said above the question.
public struct SignInRules: Sendable, Hashable {
    /// Whether a password may be used: `allowPassword`.
    public var allowsPassword: Bool
    /// Whether a certificate or smart card may be used: `allowSmartCard`.
    public var allowsCertificate: Bool
    /// Whether the certificate comes first where one is configured: `startInSmartCardMode`.
    public var prefersCertificate: Bool
    /// Where the certificate is, as libkrb5 names it, such as `FILE:/etc/cert.pem,/etc/key.pem`: `CertificateIdentity`. Nil: krb5.conf's
    /// `pkinit_identities`.
    public var certificateIdentity: String?
    /// Which certificates come into question, by their issuer, with `*` for any characters: `identityIssuerAutoSelectFilter`.
    public var issuerFilter: String?
    /// The cache of the ticket that protects sign-ins (FAST, RFC 6113), such as `FILE:/run/machine-ticket`: `ArmorCache`. Nil: they go
    /// unprotected.
    public var armorCache: String?
    /// The organisation's word for the user name, which is shown above the question with the principal: `customUsernameLabel`. Nil: it is
    /// not shown there.
    public var userNameLabel: String?
    /// Help that is shown above the question: `helpText`.
    public var helpText: String?

    /// Whether a password may be kept and sign in by itself: `allowAutomaticLogin`.
    public var allowsAutomaticLogin: Bool

    /// Makes rules; the defaults allow everything and prefer nothing.
    public init(
        allowsPassword: Bool = true,
        allowsCertificate: Bool = true,
        prefersCertificate: Bool = false,
        certificateIdentity: String? = nil,
        issuerFilter: String? = nil,
        armorCache: String? = nil,
        userNameLabel: String? = nil,
        helpText: String? = nil,
        allowsAutomaticLogin: Bool = true
    ) {
        self.allowsPassword = allowsPassword
        self.allowsCertificate = allowsCertificate
        self.prefersCertificate = prefersCertificate
        self.certificateIdentity = certificateIdentity
        self.issuerFilter = issuerFilter
        self.armorCache = armorCache
        self.userNameLabel = userNameLabel
        self.helpText = helpText
        self.allowsAutomaticLogin = allowsAutomaticLogin
    }
}
