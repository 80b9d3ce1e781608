/// A key that a profile may have: its place, the type of its value, and whether this project uses it.
public struct ProfileKey: Sendable, Hashable {
    /// The place of a key.
    public enum Place: Sendable, Hashable {
        /// Around the payloads, in the file that a device management system sends.
        case envelope
        /// In the payload.
        case payload
        /// In the payload's `ExtensionData`.
        case extensionData
    }

    /// The type of a key's value.
    public enum ValueType: String, Sendable, Hashable, CustomStringConvertible {
        /// Text.
        case string = "a string"
        /// A whole number.
        case integer = "an integer"
        /// A number, with a fraction or without.
        case number = "a number"
        /// True or false.
        case boolean = "a boolean (true or false)"
        /// Bytes.
        case data = "data"
        /// A list of strings.
        case strings = "an array of strings"
        /// Lists of strings by name.
        case stringsByName = "a dictionary of arrays of strings"
        /// Strings by name.
        case stringByName = "a dictionary of strings"
        /// A list.
        case array = "an array"
        /// Values by key.
        case dictionary = "a dictionary"
        /// Any type; the value is not checked.
        case any = "any value"

        /// The type in words, with its article.
        public var description: String { rawValue }
    }

    /// Whether this version uses a key.
    public enum State: Sendable, Hashable {
        /// The key has an effect.
        case used
        /// The key has no effect on Linux, for the given reason.
        case notApplicable(String)
    }

    /// The key's name as it is written in a profile.
    public let name: String
    /// The key's place.
    public let place: Place
    /// The type of the key's value.
    public let type: ValueType
    /// Whether this version uses the key.
    public let state: State
    /// The documented value if the key is missing; nil if there is none.
    public let defaultValue: ProfileValue?
    /// Whether a payload must have it.
    public let isRequired: Bool
    /// Whether Apple has deprecated the key.
    public let isDeprecated: Bool

    init(
        _ name: String,
        _ place: Place,
        _ type: ValueType,
        _ state: State,
        default defaultValue: ProfileValue? = nil,
        isRequired: Bool = false,
        isDeprecated: Bool = false
    ) {
        self.name = name
        self.place = place
        self.type = type
        self.state = state
        self.defaultValue = defaultValue
        self.isRequired = isRequired
        self.isDeprecated = isDeprecated
    }

    /// Whether the key has an effect, so that a fault in it makes the file unusable.
    public var isActedOn: Bool { state == .used }

    /// All known keys.
    public static let all: [ProfileKey] = envelope + payload + extensionData

    /// Returns the known key with a name in a place.
    public static func named(_ name: String, in place: Place) -> ProfileKey? {
        all.first { $0.place == place && $0.name == name }
    }
}

extension ProfileKey {
    private static let forManagement = State.notApplicable("it is for the device management that installs the profile")
    private static let forRedirect = State.notApplicable(
        "it belongs to payloads of type Redirect, which the Kerberos extension does not support"
    )
    private static let forPlatform = State.notApplicable("Platform SSO signs users in to a Mac itself")

    /// The keys of a payload.
    static let payload: [ProfileKey] = [
        ProfileKey("Realm", .payload, .string, .used, isRequired: true),
        ProfileKey("Hosts", .payload, .strings, .used, isRequired: true),
        ProfileKey("ExtensionIdentifier", .payload, .string, .used, isRequired: true),
        ProfileKey("TeamIdentifier", .payload, .string, .used),
        ProfileKey("Type", .payload, .string, .used, isRequired: true),
        ProfileKey("ExtensionData", .payload, .dictionary, .used),
        ProfileKey("PlainHTTPHosts", .payload, .strings, .used),
        ProfileKey("PreemptiveHosts", .payload, .strings, .used),
        ProfileKey("DelegationHosts", .payload, .strings, .used),
        ProfileKey("UnconditionalDelegationHosts", .payload, .strings, .used),
        ProfileKey("OptionalMutualAuthenticationHosts", .payload, .strings, .used),
        ProfileKey("NoMutualAuthenticationHosts", .payload, .strings, .used),
        ProfileKey("NoChannelBindingHosts", .payload, .strings, .used),
        ProfileKey("ServicePrincipals", .payload, .stringByName, .used),
        ProfileKey("AllowedPeers", .payload, .stringsByName, .used),
        ProfileKey("MaxSessionLifetime", .payload, .integer, .used),
        ProfileKey("SignOutAt", .payload, .string, .used),
        ProfileKey("IdleSignOutAfter", .payload, .integer, .used),
        ProfileKey("SignOutOnLock", .payload, .boolean, .used),
        ProfileKey("SignOutOnSessionEnd", .payload, .boolean, .used),
        ProfileKey("SignOutExempt", .payload, .strings, .used),
        ProfileKey("RenewAtFraction", .payload, .number, .used),
        ProfileKey("CertificateIdentity", .payload, .string, .used),
        ProfileKey("ArmorCache", .payload, .string, .used),
        ProfileKey("PayloadType", .payload, .string, .used),
        ProfileKey("DeniedBundleIdentifiers", .payload, .strings, .used),
        ProfileKey("ScreenLockedBehavior", .payload, .string, .used),
        ProfileKey("URLs", .payload, .any, forRedirect),
        ProfileKey("AuthenticationMethod", .payload, .any, forPlatform),
        ProfileKey("RegistrationToken", .payload, .any, forPlatform),
        ProfileKey("PlatformSSO", .payload, .any, forPlatform),
        ProfileKey("PayloadVersion", .payload, .any, forManagement),
        ProfileKey("PayloadIdentifier", .payload, .string, forManagement),
        ProfileKey("PayloadUUID", .payload, .string, forManagement),
        ProfileKey("PayloadDisplayName", .payload, .string, forManagement),
        ProfileKey("PayloadDescription", .payload, .string, forManagement),
        ProfileKey("PayloadOrganization", .payload, .string, forManagement),
        ProfileKey("PayloadEnabled", .payload, .any, forManagement),
    ]

    /// The keys around the payloads.
    static let envelope: [ProfileKey] = [
        ProfileKey("PayloadContent", .envelope, .array, .used, isRequired: true),
        ProfileKey("PayloadType", .envelope, .any, forManagement),
        ProfileKey("PayloadVersion", .envelope, .any, forManagement),
        ProfileKey("PayloadIdentifier", .envelope, .any, forManagement),
        ProfileKey("PayloadUUID", .envelope, .any, forManagement),
        ProfileKey("PayloadDisplayName", .envelope, .any, forManagement),
        ProfileKey("PayloadDescription", .envelope, .any, forManagement),
        ProfileKey("PayloadOrganization", .envelope, .any, forManagement),
        ProfileKey("PayloadScope", .envelope, .any, forManagement),
        ProfileKey("PayloadEnabled", .envelope, .any, forManagement),
        ProfileKey("PayloadExpirationDate", .envelope, .any, forManagement),
        ProfileKey("PayloadRemovalDisallowed", .envelope, .any, forManagement),
        ProfileKey("HasRemovalPasscode", .envelope, .any, forManagement),
        ProfileKey("RemovalDate", .envelope, .any, forManagement),
        ProfileKey("DurationUntilRemoval", .envelope, .any, forManagement),
        ProfileKey("ConsentText", .envelope, .any, forManagement),
        ProfileKey("TargetDeviceType", .envelope, .any, forManagement),
        ProfileKey("IsEncrypted", .envelope, .any, forManagement),
    ]
}

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

    /// The realm, the principal, and how servers are found.
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

    /// Which programs may use the credential, and when.
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

    /// Passwords: their age, their rules, and how they are changed and stored.
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
            .notApplicable("the local account's password is managed by PAM"),
            default: .boolean(false)
        ),
    ]

    /// Active Directory.
    private static let directory: [ProfileKey] = [
        key("siteCode", .string, site),
        key("useSiteAutoDiscovery", .boolean, site, default: .boolean(true)),
        key("requireTLSForLDAP", .boolean, .notApplicable("this project does not use LDAP"), default: .boolean(false)),
        key(
            "replicationTime",
            .integer,
            .notApplicable("a password's age is not looked up in the directory, so no change has to reach all its servers first"),
            default: .integer(900),
            isDeprecated: true
        ),
    ]

    /// The sign-in prompt.
    private static let signInWindow: [ProfileKey] = [
        key("customUsernameLabel", .string, .used),
        key("helpText", .string, .used),
        key(
            "delayUserSetup",
            .boolean,
            .notApplicable("there is no setup before the first sign-in that could be delayed"),
            default: .boolean(false)
        ),
        key("identityIssuerAutoSelectFilter", .string, .used),
        key("allowSmartCard", .boolean, .used, default: .boolean(true)),
        key("allowPassword", .boolean, .used, default: .boolean(true)),
        key("startInSmartCardMode", .boolean, .used, default: .boolean(false)),
    ]
}
