internal import SignOnPolicy

extension ProfileKey {
    private static let managementReason = "it is for the device management that installs the profile"
    private static let redirectReason = "it belongs to payloads of type Redirect, which the Kerberos extension does not support"
    private static let platformReason = "Platform SSO signs users in to a Mac itself"

    /// The keys of a payload.
    static let payload: [ProfileKey] = purpose + own + general + unused

    /// The keys of this project, which a Mac ignores.
    static let own: [ProfileKey] = hostLists + proxies + services + sessionLimits + signIn

    /// The keys that say what the payload is for.
    private static let purpose: [ProfileKey] = [
        ProfileKey("Realm", .payload, .string, isRequired: true, check: .realm),
        ProfileKey("Hosts", .payload, .strings, isRequired: true, check: .hostRules, sets: .hosts(\.hosts)),
        ProfileKey("ExtensionIdentifier", .payload, .string, isRequired: true, check: .only(ProfileReader.extensionIdentifier)),
        ProfileKey("TeamIdentifier", .payload, .string, check: .only("apple")),
        ProfileKey("Type", .payload, .string, isRequired: true, check: .only("Credential")),
        ProfileKey("ExtensionData", .payload, .dictionary),
    ]

    /// How single hosts are answered.
    private static let hostLists: [ProfileKey] = HostList.all.map {
        ProfileKey($0.name, .payload, .strings, check: .hostRules, sets: .hosts($0.property))
    }

    /// The routes of the local proxy.
    private static let proxies: [ProfileKey] = [
        ProfileKey(
            "ProxyServers",
            .payload,
            .strings,
            check: ValueCheck.texts { text throws(HostRuleError) in _ = try ProxyAddress(text) },
            sets: KeySetting { $1.proxyServers = ($0.strings ?? []).compactMap { try? ProxyAddress($0) } }
        ),
        ProfileKey("ProxyAutoConfigURL", .payload, .string, check: .proxyAutoConfigURL, sets: .text(\.proxyAutoConfigURL)),
        ProfileKey("NoProxy", .payload, .strings, check: .noProxy, sets: KeySetting { $1.noProxy = $0.strings ?? [] }),
    ]

    /// Services with other names, other local users, and programs.
    private static let services: [ProfileKey] = [
        ProfileKey(
            ServicePrincipalEntry.key,
            .payload,
            .stringsByName,
            check: .servicePrincipals,
            sets: KeySetting { value, configuration in
                let entries = ServicePrincipalEntry.all(in: value.dictionary ?? [:])
                configuration.servicePrincipals = entries.reduce(into: [:]) { $0[$1.origin] = $1.principal }
            }
        ),
        ProfileKey(
            "AllowedPeers",
            .payload,
            .stringListsByName,
            check: .allowedPeers,
            sets: KeySetting { value, configuration in
                configuration.allowedPeers = (value.dictionary ?? [:]).sorted { $0.key < $1.key }.compactMap { name, hosts in
                    AllowedPeer.Peer(name).map { AllowedPeer($0, hosts: (hosts.strings ?? []).hostRules) }
                }
            }
        ),
        ProfileKey(
            "CredentialBundleIdACLMode",
            .payload,
            .string,
            check: .only(CallerListMode.allCases),
            sets: KeySetting { value, configuration in
                if let mode = value.string.flatMap(CallerListMode.init) { configuration.callerListMode = mode }
            }
        ),
    ]

    /// When sessions end without a sign-out.
    private static let sessionLimits: [ProfileKey] = [
        ProfileKey("MaxSessionLifetime", .payload, .integer, check: .sessionTime, sets: .seconds(\.sessionLimits.maximumLifetime)),
        ProfileKey(
            "SignOutAt",
            .payload,
            .string,
            check: .timeOfDay,
            sets: KeySetting { $1.sessionLimits.signOutAt = $0.string.flatMap { SessionLimits.TimeOfDay($0) } }
        ),
        ProfileKey("IdleSignOutAfter", .payload, .integer, check: .sessionTime, sets: .seconds(\.sessionLimits.idleSignOutAfter)),
        ProfileKey("SignOutOnLock", .payload, .boolean, sets: .flag(\.sessionLimits.signOutOnLock)),
        ProfileKey("SignOutOnSessionEnd", .payload, .boolean, sets: .flag(\.sessionLimits.signOutOnSessionEnd)),
        ProfileKey(
            "SignOutExempt",
            .payload,
            .strings,
            check: .principals,
            sets: KeySetting { $1.sessionLimits.exemptPrincipals = $0.strings ?? [] }
        ),
    ]

    /// How tickets are acquired and renewed.
    private static let signIn: [ProfileKey] = [
        ProfileKey("RenewAtFraction", .payload, .number, check: .renewalFraction, sets: KeySetting { $1.renewalFraction = $0.number }),
        ProfileKey("CertificateIdentity", .payload, .string, check: .certificateIdentity, sets: .text(\.signIn.certificateIdentity)),
        ProfileKey("SignInOnCardInsertion", .payload, .boolean, sets: .flag(\.signIn.signsInOnCardInsertion)),
        ProfileKey("ArmorCache", .payload, .string, check: .armorCache, sets: .text(\.signIn.armorCache)),
    ]

    /// Apple's keys for every extension.
    private static let general: [ProfileKey] = [
        ProfileKey("PayloadType", .payload, .string, check: .only(ProfileReader.payloadType)),
        ProfileKey(
            "DeniedBundleIdentifiers",
            .payload,
            .strings,
            check: .callers,
            sets: KeySetting { $1.deniedCallers = ($0.strings ?? []).compactMap { CredentialCaller($0) } }
        ),
        ProfileKey(
            "ScreenLockedBehavior",
            .payload,
            .string,
            check: .only(ScreenLockedBehavior.allCases),
            sets: KeySetting { $1.screenLockedBehavior = $0.string.flatMap(ScreenLockedBehavior.init) }
        ),
    ]

    private static let unused: [ProfileKey] = [
        ProfileKey("URLs", .payload, .any, unused: redirectReason),
        ProfileKey("AuthenticationMethod", .payload, .any, unused: platformReason),
        ProfileKey("RegistrationToken", .payload, .any, unused: platformReason),
        ProfileKey("PlatformSSO", .payload, .any, unused: platformReason),
        ProfileKey("PayloadVersion", .payload, .any, unused: managementReason),
        ProfileKey("PayloadIdentifier", .payload, .string, unused: managementReason),
        ProfileKey("PayloadUUID", .payload, .string, unused: managementReason),
        ProfileKey("PayloadDisplayName", .payload, .string, unused: managementReason),
        ProfileKey("PayloadDescription", .payload, .string, unused: managementReason),
        ProfileKey("PayloadOrganization", .payload, .string, unused: managementReason),
        ProfileKey("PayloadEnabled", .payload, .any, unused: managementReason),
    ]

    /// The keys around the payloads.
    static let envelope: [ProfileKey] =
        [ProfileKey("PayloadContent", .envelope, .array, isRequired: true)]
        + [
            "PayloadType", "PayloadVersion", "PayloadIdentifier", "PayloadUUID", "PayloadDisplayName", "PayloadDescription",
            "PayloadOrganization", "PayloadScope", "PayloadEnabled", "PayloadExpirationDate", "PayloadRemovalDisallowed",
            "HasRemovalPasscode", "RemovalDate", "DurationUntilRemoval", "ConsentText", "TargetDeviceType", "IsEncrypted",
        ].map { ProfileKey($0, .envelope, .any, unused: managementReason) }
}
