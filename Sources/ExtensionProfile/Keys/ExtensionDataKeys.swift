internal import SignOnPolicy

extension ProfileKey {
    /// The keys of `ExtensionData`.
    static let extensionData: [ProfileKey] = identity + programs + passwords + directory + prompt

    private static func key(
        _ name: String,
        _ type: ValueType,
        default defaultValue: ProfileValue? = nil,
        isDeprecated: Bool = false,
        check: ValueCheck = .typeOnly,
        sets setting: KeySetting
    ) -> ProfileKey {
        ProfileKey(name, .extensionData, type, default: defaultValue, isDeprecated: isDeprecated, check: check, sets: setting)
    }

    private static func key(
        _ name: String,
        _ type: ValueType,
        unused reason: String,
        default defaultValue: ProfileValue? = nil,
        isDeprecated: Bool = false
    ) -> ProfileKey {
        ProfileKey(name, .extensionData, type, unused: reason, default: defaultValue, isDeprecated: isDeprecated)
    }

    private static let platformTicketReason = "no Platform SSO signs users in to this machine"

    /// The realm, the principal, and how servers are found.
    private static let identity: [ProfileKey] = [
        key("principalName", .string, check: .principal, sets: KeySetting { $1.principalName = $0.string.map($1.withOwnRealm) }),
        key("isDefaultRealm", .boolean, default: .boolean(false), sets: .flag(\.isDefaultRealm)),
        key(
            "domainRealmMapping",
            .stringListsByName,
            check: .domainRealmMapping,
            sets: KeySetting { $1.domainRealmMapping = ($0.dictionary ?? [:]).compactMapValues(\.strings) }
        ),
        key(
            "preferredKDCs",
            .strings,
            check: ValueCheck.texts { text throws(HostRuleError) in _ = try PreferredKDC(text) },
            sets: KeySetting { $1.preferredKDCs = ($0.strings ?? []).compactMap { try? PreferredKDC($0) } }
        ),
        key(
            "cacheName",
            .string,
            unused: "it names a cache of a Mac's collection; here KRB5CCNAME or krb5.conf name it",
            isDeprecated: true
        ),
        key(
            "certificateUUID",
            .string,
            unused: "it names a certificate in a Mac's keychain; here CertificateIdentity or krb5.conf's pkinit_identities name one"
        ),
    ]

    /// Which programs may use the credential, and when.
    private static let programs: [ProfileKey] = [
        // If the list has no entry for Linux, the property stays nil, which allows every program, so that a profile for Macs denies no
        // program here; in the strict mode, which an earlier key sets, the empty list denies all.
        key(
            "credentialBundleIdACL",
            .strings,
            check: .callers,
            sets: KeySetting { value, configuration in
                let callers = (value.strings ?? []).compactMap { CredentialCaller($0) }
                configuration.credentialCallers = callers.isEmpty && configuration.callerListMode == .lenient ? nil : callers
            }
        ),
        key(
            "includeManagedAppsInBundleIdACL",
            .boolean,
            unused: "no device management installs single programs here",
            default: .boolean(false)
        ),
        // Must follow credentialBundleIdACL, because settings are applied in the order of this list.
        key(
            "includeKerberosAppsInBundleIdACL",
            .boolean,
            default: .boolean(false),
            sets: KeySetting { if $0.boolean == true { $1.credentialCallers? += CredentialCaller.kerberosTools } }
        ),
        key(
            "credentialUseMode",
            .string,
            default: .string("always"),
            check: .only(CredentialUseMode.allCases),
            sets: KeySetting { $1.credentialUseMode = $0.string.flatMap(CredentialUseMode.init) }
        ),
        key("usePlatformSSOTGT", .boolean, unused: platformTicketReason, default: .boolean(false)),
        key("allowPlatformSSOAuthFallback", .boolean, unused: platformTicketReason, default: .boolean(true)),
        key(
            "performKerberosOnly",
            .boolean,
            default: .boolean(false),
            sets: KeySetting { $1.passwords.givesNotices = $0.boolean != true }
        ),
        key("monitorCredentialsCache", .boolean, default: .boolean(true), sets: .flag(\.monitorsCredentials)),
    ]

    /// Passwords: their age, their rules, and how they are changed and stored.
    private static let passwords: [ProfileKey] = [
        key("allowPasswordChange", .boolean, default: .boolean(true), sets: .flag(\.passwords.isChangeAllowed)),
        key("allowAutomaticLogin", .boolean, default: .boolean(true), sets: .flag(\.signIn.allowsAutomaticLogin)),
        key(
            "requireUserPresence",
            .boolean,
            unused: "it guards a Mac's keychain with Touch ID, Face ID or a passcode",
            default: .boolean(false)
        ),
        key("pwExpireOverride", .integer, isDeprecated: true, sets: .integer(\.passwords.expireOverride)),
        key(
            "pwNotificationDays",
            .integer,
            default: .integer(15),
            sets: KeySetting { if let days = $0.integer { $1.passwords.notificationDays = days } }
        ),
        key("pwReqLength", .integer, sets: .integer(\.passwords.minimumLength)),
        key("pwReqComplexity", .boolean, default: .boolean(false), sets: .flag(\.passwords.requiresComplexity)),
        key("pwReqMinAge", .integer, sets: .integer(\.passwords.minimumAge)),
        key("pwReqHistory", .integer, sets: .integer(\.passwords.history)),
        key("pwReqText", .string, sets: .text(\.passwords.requirementsText)),
        key("pwReqRTFData", .data, unused: "a terminal shows no RTF; pwReqText says the same in plain text"),
        key("pwChangeURL", .string, check: .url, sets: .text(\.passwords.changeURL)),
        key("syncLocalPassword", .boolean, unused: "the local account's password is managed by PAM", default: .boolean(false)),
    ]

    /// Active Directory.
    private static let directory: [ProfileKey] = [
        key("siteCode", .string, check: .site, sets: .text(\.siteCode)),
        key("useSiteAutoDiscovery", .boolean, default: .boolean(true), sets: .flag(\.discoversSite)),
        key("requireTLSForLDAP", .boolean, default: .boolean(false), sets: .flag(\.requiresTLSForLDAP)),
        key(
            "replicationTime",
            .integer,
            default: .integer(900),
            isDeprecated: true,
            sets: KeySetting { if let seconds = $0.integer { $1.passwords.replicationTime = Double(seconds) } }
        ),
    ]

    /// The sign-in prompt.
    private static let prompt: [ProfileKey] = [
        key("customUsernameLabel", .string, sets: .text(\.signIn.userNameLabel)),
        key("helpText", .string, sets: .text(\.signIn.helpText)),
        key(
            "delayUserSetup",
            .boolean,
            unused: "there is no setup before the first sign-in that could be delayed",
            default: .boolean(false)
        ),
        key("identityIssuerAutoSelectFilter", .string, sets: .text(\.signIn.issuerFilter)),
        key("allowSmartCard", .boolean, default: .boolean(true), sets: .flag(\.signIn.allowsCertificate)),
        key("allowPassword", .boolean, default: .boolean(true), sets: .flag(\.signIn.allowsPassword)),
        key("startInSmartCardMode", .boolean, default: .boolean(false), sets: .flag(\.signIn.prefersCertificate)),
    ]
}

extension ExtensionConfiguration {
    /// Returns a principal's name with the configuration's realm if its own differs from it only in case.
    fileprivate func withOwnRealm(_ name: String) -> String {
        guard let sign = name.lastIndex(of: "@"), !name[..<sign].hasSuffix("\\") else { return name }
        let isOwnRealm = name[name.index(after: sign)...].uppercased() == realm.uppercased()
        return isOwnRealm ? "\(name[...sign])\(realm)" : name
    }
}
