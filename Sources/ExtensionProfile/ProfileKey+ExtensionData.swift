extension ProfileKey {
    /// The 38 keys of `ExtensionData`.
    static let extensionData: [ProfileKey] = identity + access + passwords + directory + signInWindow

    private static func key(
        _ name: String,
        _ type: ValueType,
        _ state: State,
        default defaultValue: ProfileValue? = nil,
        isDeprecated: Bool = false
    ) -> ProfileKey {
        ProfileKey(name, .extensionData, type, state, default: defaultValue, isDeprecated: isDeprecated)
    }

    private static let managedPrograms = State.notApplicable("no device management installs single programs here")
    private static let platformTicket = State.notApplicable("no Platform SSO signs users in to this machine")
    private static let site = State.notApplicable(
        "a site's servers are looked up by LDAP and by names in DNS that libkrb5 does not ask for; preferredKDCs names them"
    )

    /// Which realm, who, and how its servers are found.
    private static let identity: [ProfileKey] = [
        key("principalName", .string, .used),
        key("isDefaultRealm", .boolean, .used, default: .boolean(false)),
        key("domainRealmMapping", .stringsByName, .used),
        key("preferredKDCs", .strings, .used),
        key(
            "cacheName",
            .string,
            .notApplicable("it names a cache of a Mac's collection; here KRB5CCNAME or krb5.conf name it"),
            isDeprecated: true
        ),
        key(
            "certificateUUID",
            .string,
            .notApplicable("it names a certificate in a Mac's keychain; here CertificateIdentity or krb5.conf's pkinit_identities name one")
        ),
    ]

    /// Which program may use the credential, and when.
    private static let access: [ProfileKey] = [
        key("credentialBundleIdACL", .strings, .used),
        key("includeManagedAppsInBundleIdACL", .boolean, managedPrograms, default: .boolean(false)),
        key("includeKerberosAppsInBundleIdACL", .boolean, .used, default: .boolean(false)),
        key("credentialUseMode", .string, .used, default: .string("always")),
        key("usePlatformSSOTGT", .boolean, platformTicket, default: .boolean(false)),
        key("allowPlatformSSOAuthFallback", .boolean, platformTicket, default: .boolean(true)),
        key("performKerberosOnly", .boolean, .used, default: .boolean(false)),
        key("monitorCredentialsCache", .boolean, .used, default: .boolean(true)),
    ]

    /// Passwords: their age, their rules, how they are changed and kept.
    private static let passwords: [ProfileKey] = [
        key("allowPasswordChange", .boolean, .used, default: .boolean(true)),
        key("allowAutomaticLogin", .boolean, .used, default: .boolean(true)),
        key(
            "requireUserPresence",
            .boolean,
            .notApplicable("it guards a Mac's keychain with Touch ID, Face ID or a passcode"),
            default: .boolean(false)
        ),
        key("pwExpireOverride", .integer, .used, isDeprecated: true),
        key("pwNotificationDays", .integer, .used, default: .integer(15)),
        key("pwReqLength", .integer, .used),
        key("pwReqComplexity", .boolean, .used, default: .boolean(false)),
        key("pwReqMinAge", .integer, .used),
        key("pwReqHistory", .integer, .used),
        key("pwReqText", .string, .used),
        key("pwReqRTFData", .data, .notApplicable("a terminal shows no RTF; pwReqText says the same in plain text")),
        key("pwChangeURL", .string, .used),
        key(
            "syncLocalPassword",
            .boolean,
            .notApplicable("the local account's password is PAM's affair"),
            default: .boolean(false)
        ),
    ]

    /// Active Directory.
    private static let directory: [ProfileKey] = [
        key("siteCode", .string, site),
        key("useSiteAutoDiscovery", .boolean, site, default: .boolean(true)),
        key("requireTLSForLDAP", .boolean, .notApplicable("no LDAP is spoken, with TLS or without"), default: .boolean(false)),
        key(
            "replicationTime",
            .integer,
            .notApplicable("a password's age is not looked up in the directory, so no change has to reach all its servers first"),
            default: .integer(900),
            isDeprecated: true
        ),
    ]

    /// What a user sees when signing in.
    private static let signInWindow: [ProfileKey] = [
        key("customUsernameLabel", .string, .used),
        key("helpText", .string, .used),
        key(
            "delayUserSetup",
            .boolean,
            .notApplicable("nobody is asked to set anything up before the first sign-in"),
            default: .boolean(false)
        ),
        key("identityIssuerAutoSelectFilter", .string, .used),
        key("allowSmartCard", .boolean, .used, default: .boolean(true)),
        key("allowPassword", .boolean, .used, default: .boolean(true)),
        key("startInSmartCardMode", .boolean, .used, default: .boolean(false)),
    ]
}
