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
    private static let smartCard = State.notYet("signing in with a certificate or smart card is not offered")

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
        key("certificateUUID", .string, smartCard),
    ]

    /// Which program may use the credential, and when.
    private static let access: [ProfileKey] = [
        key("credentialBundleIdACL", .strings, .used),
        key("includeManagedAppsInBundleIdACL", .boolean, managedPrograms, default: .boolean(false)),
        key("includeKerberosAppsInBundleIdACL", .boolean, .used, default: .boolean(false)),
        key(
            "credentialUseMode",
            .string,
            .notYet("programs that choose a credential by themselves follow krb5.conf"),
            default: .string("always")
        ),
        key("usePlatformSSOTGT", .boolean, platformTicket, default: .boolean(false)),
        key("allowPlatformSSOAuthFallback", .boolean, platformTicket, default: .boolean(true)),
        key("performKerberosOnly", .boolean, .used, default: .boolean(false)),
        key(
            "monitorCredentialsCache",
            .boolean,
            .notYet("the agent watches its own caches whatever it says; the system's are read when a request needs them"),
            default: .boolean(true)
        ),
    ]

    /// Passwords: their age, their rules, how they are changed and kept.
    private static let passwords: [ProfileKey] = [
        key("allowPasswordChange", .boolean, .used, default: .boolean(true)),
        key("allowAutomaticLogin", .boolean, .notYet("no password is saved"), default: .boolean(true)),
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
        key("siteCode", .string, .notYet("domain controllers are found without their site")),
        key("useSiteAutoDiscovery", .boolean, .notYet("domain controllers are found without their site"), default: .boolean(true)),
        key("requireTLSForLDAP", .boolean, .notYet("no LDAP connection is made"), default: .boolean(false)),
        key(
            "replicationTime",
            .integer,
            .notYet("the age of a password is not asked for after a change"),
            default: .integer(900),
            isDeprecated: true
        ),
    ]

    /// What a user sees when signing in.
    private static let signInWindow: [ProfileKey] = [
        key("customUsernameLabel", .string, .notYet("the prompt names the principal")),
        key("helpText", .string, .notYet("the prompt shows no further text")),
        key(
            "delayUserSetup",
            .boolean,
            .notApplicable("nobody is asked to set anything up before the first sign-in"),
            default: .boolean(false)
        ),
        key("identityIssuerAutoSelectFilter", .string, smartCard),
        key("allowSmartCard", .boolean, smartCard, default: .boolean(true)),
        key("allowPassword", .boolean, .notYet("a password is always accepted"), default: .boolean(true)),
        key("startInSmartCardMode", .boolean, smartCard, default: .boolean(false)),
    ]
}
