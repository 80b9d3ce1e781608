extension ProfileKey {
    private static let forManagement = State.notApplicable("it is for the device management that installs the profile")
    private static let forRedirect = State.notApplicable("it belongs to payloads of type Redirect, which the Kerberos extension has not")
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
