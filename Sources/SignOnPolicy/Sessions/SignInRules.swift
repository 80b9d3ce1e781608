/// The permitted ways to sign in to a realm, and the texts shown above the prompt.
public struct SignInRules: Sendable, Hashable, Codable {
    /// Whether a password may be used: `allowPassword`.
    public var allowsPassword: Bool
    /// Whether a certificate or smart card may be used: `allowSmartCard`.
    public var allowsCertificate: Bool
    /// Whether a configured certificate is used first: `startInSmartCardMode`.
    public var prefersCertificate: Bool
    /// The certificate in libkrb5's syntax, such as `FILE:/etc/cert.pem,/etc/key.pem`: `CertificateIdentity`. Nil is krb5.conf's
    /// `pkinit_identities`.
    public var certificateIdentity: String?
    /// Whether the agent signs in when a smart card is inserted: `SignInOnCardInsertion`.
    public var signsInOnCardInsertion: Bool
    /// The issuers whose certificates may be used, with `*` for any characters: `identityIssuerAutoSelectFilter`.
    public var issuerFilter: String?
    /// The cache of the armor ticket that protects sign-ins (FAST, RFC 6113), such as `FILE:/run/machine-ticket`: `ArmorCache`. Nil uses no
    /// armor.
    public var armorCache: String?
    /// The organization's term for the user name, shown with the principal above the prompt: `customUsernameLabel`. Nil shows neither.
    public var userNameLabel: String?
    /// A help text, shown above the prompt: `helpText`.
    public var helpText: String?

    /// Whether a password may be stored and used to sign in automatically: `allowAutomaticLogin`.
    public var allowsAutomaticLogin: Bool

    /// Creates rules; the defaults allow everything and prefer nothing.
    public init(
        allowsPassword: Bool = true,
        allowsCertificate: Bool = true,
        prefersCertificate: Bool = false,
        certificateIdentity: String? = nil,
        signsInOnCardInsertion: Bool = false,
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
        self.signsInOnCardInsertion = signsInOnCardInsertion
        self.issuerFilter = issuerFilter
        self.armorCache = armorCache
        self.userNameLabel = userNameLabel
        self.helpText = helpText
        self.allowsAutomaticLogin = allowsAutomaticLogin
    }

    /// Decodes rules. A missing key has its default.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        self.init()
        try container.decode(.allowsPassword, into: &allowsPassword)
        try container.decode(.allowsCertificate, into: &allowsCertificate)
        try container.decode(.prefersCertificate, into: &prefersCertificate)
        try container.decode(.certificateIdentity, into: &certificateIdentity)
        try container.decode(.signsInOnCardInsertion, into: &signsInOnCardInsertion)
        try container.decode(.issuerFilter, into: &issuerFilter)
        try container.decode(.armorCache, into: &armorCache)
        try container.decode(.userNameLabel, into: &userNameLabel)
        try container.decode(.helpText, into: &helpText)
        try container.decode(.allowsAutomaticLogin, into: &allowsAutomaticLogin)
    }
}

extension SignInRules {
    /// Combines the rules of several profiles for one realm: what one of them forbids is forbidden, and of each other value the first one
    /// applies.
    package init(combining rules: [SignInRules]) {
        self.init(
            allowsPassword: rules.allSatisfy(\.allowsPassword),
            allowsCertificate: rules.allSatisfy(\.allowsCertificate),
            prefersCertificate: rules.contains(where: \.prefersCertificate),
            certificateIdentity: rules.lazy.compactMap(\.certificateIdentity).first,
            signsInOnCardInsertion: rules.contains(where: \.signsInOnCardInsertion),
            issuerFilter: rules.lazy.compactMap(\.issuerFilter).first,
            armorCache: rules.lazy.compactMap(\.armorCache).first,
            userNameLabel: rules.lazy.compactMap(\.userNameLabel).first,
            helpText: rules.lazy.compactMap(\.helpText).first,
            allowsAutomaticLogin: rules.allSatisfy(\.allowsAutomaticLogin)
        )
    }
}
