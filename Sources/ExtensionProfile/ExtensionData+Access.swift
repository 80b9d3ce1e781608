public import HTTPNegotiate

/// Which program may use the credential, and what a user sees when signing in.
extension ExtensionData {
    /// The programs that may use the tickets: a Mac's by bundle identifier, Linux's by path or systemd unit.
    public var credentialBundleIdACL: [String]? { values["credentialBundleIdACL"]?.strings }
    /// Whether managed programs may use it too.
    public var includeManagedAppsInBundleIdACL: Bool? { values["includeManagedAppsInBundleIdACL"]?.boolean }
    /// Whether the system's own Kerberos tools may use it too.
    public var includeKerberosAppsInBundleIdACL: Bool? { values["includeKerberosAppsInBundleIdACL"]?.boolean }
    /// The Linux programs among them, with the Kerberos tools where they are included. Nil, which restricts nobody, where the list has no
    /// entry for Linux: a profile for Macs alone locks nobody out here.
    public var credentialCallers: [CredentialCaller]? {
        let named = (credentialBundleIdACL ?? []).compactMap { CredentialCaller($0) }
        guard !named.isEmpty else { return nil }
        return named + (includeKerberosAppsInBundleIdACL == true ? CredentialCaller.kerberosTools : [])
    }
    /// Whether the ticket must come from Platform SSO.
    public var usePlatformSSOTGT: Bool? { values["usePlatformSSOTGT"]?.boolean }
    /// Whether a user may sign in by hand when that ticket is missing.
    public var allowPlatformSSOAuthFallback: Bool? { values["allowPlatformSSOAuthFallback"]?.boolean }
    /// Whether everything beyond Kerberos, such as password expiry, is left alone.
    public var performKerberosOnly: Bool? { values["performKerberosOnly"]?.boolean }
    /// Whether a ticket is asked for before a request needs it.
    public var monitorCredentialsCache: Bool? { values["monitorCredentialsCache"]?.boolean }
    /// The prompt's word for the user name.
    public var customUsernameLabel: String? { values["customUsernameLabel"]?.string }
    /// A text below the prompt.
    public var helpText: String? { values["helpText"]?.string }
    /// Whether a user is asked to sign in only when a challenge comes.
    public var delayUserSetup: Bool? { values["delayUserSetup"]?.boolean }
    /// A wildcard for the issuers of smart card certificates to choose from.
    public var identityIssuerAutoSelectFilter: String? { values["identityIssuerAutoSelectFilter"]?.string }
    /// Whether a smart card may be used.
    public var allowSmartCard: Bool? { values["allowSmartCard"]?.boolean }
    /// Whether a password may be used.
    public var allowPassword: Bool? { values["allowPassword"]?.boolean }
    /// Whether the prompt begins with the smart card.
    public var startInSmartCardMode: Bool? { values["startInSmartCardMode"]?.boolean }
}
