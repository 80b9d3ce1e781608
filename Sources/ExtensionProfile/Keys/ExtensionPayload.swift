public import SignOnPolicy

/// One payload for the Kerberos extension, with typed keys.
public struct ExtensionPayload: Sendable, Hashable {
    /// The payload's index in the file, counted from 0 and including other payloads.
    public let index: Int
    /// The payload's place in the file.
    public let path: ProfileKeyPath
    /// The user's realm: `Realm`.
    public let realm: String
    /// The hosts whose challenges are answered: `Hosts`.
    public let hosts: [HostRule]
    /// The hosts that are also answered over plain http: `PlainHTTPHosts`, a key of this project that a Mac ignores.
    public let plainHTTPHosts: [HostRule]
    /// The hosts that get a token without a challenge after their first one: `PreemptiveHosts`, a key of this project.
    public let preemptiveHosts: [HostRule]
    /// The hosts that get the user's own ticket if the KDC trusts them for delegation: `DelegationHosts`, a key of this project.
    public let delegationHosts: [HostRule]
    /// The hosts that always get the user's own ticket: `UnconditionalDelegationHosts`, a key of this project.
    public let unconditionalDelegationHosts: [HostRule]
    /// The hosts that may omit mutual authentication, but must not fail it: `OptionalMutualAuthenticationHosts`, a key of this project.
    public let optionalMutualAuthenticationHosts: [HostRule]
    /// The hosts that are not asked for mutual authentication: `NoMutualAuthenticationHosts`, a key of this project.
    public let noMutualAuthenticationHosts: [HostRule]
    /// The hosts whose TLS ends in front of the server, so that a token cannot be bound to it: `NoChannelBindingHosts`, a key of this
    /// project.
    public let noChannelBindingHosts: [HostRule]
    /// The service principals that differ from `HTTP/host`, by origin: `ServicePrincipals`, a key of this project.
    public let servicePrincipals: [Origin: String]
    /// The other local users that get tokens from this user's agent: `AllowedPeers`, a key of this project.
    public let allowedPeers: [AllowedPeer]
    /// When sessions end without a sign-out: `MaxSessionLifetime`, `SignOutAt`, `IdleSignOutAfter`, `SignOutOnLock`, `SignOutOnSessionEnd`
    /// and `SignOutExempt`, keys of this project.
    public let sessionLimits: SessionLimits
    /// The part of its lifetime after which a ticket is renewed or reacquired: `RenewAtFraction`, a key of this project.
    public let renewalFraction: Double?
    /// The keys of `ExtensionData`.
    public let extensionData: ExtensionData
    private let keys: [String: ProfileValue]

    /// Creates a payload; nil if `Realm` or `Hosts` is missing or has another type, which the report states.
    init?(index: Int, path: ProfileKeyPath, keys: [String: ProfileValue]) {
        guard let realm = keys["Realm"]?.string, let hosts = keys["Hosts"]?.strings else { return nil }
        self.index = index
        self.path = path
        self.keys = keys
        self.realm = realm
        self.hosts = hosts.compactMap { try? HostRule($0) }
        plainHTTPHosts = HostList.plainHTTP.rules(in: keys)
        preemptiveHosts = HostList.preemptive.rules(in: keys)
        delegationHosts = HostList.delegation.rules(in: keys)
        unconditionalDelegationHosts = HostList.unconditionalDelegation.rules(in: keys)
        optionalMutualAuthenticationHosts = HostList.optionalMutualAuthentication.rules(in: keys)
        noMutualAuthenticationHosts = HostList.noMutualAuthentication.rules(in: keys)
        noChannelBindingHosts = HostList.noChannelBinding.rules(in: keys)
        servicePrincipals = ServicePrincipalEntry.all(in: keys).reduce(into: [:]) { $0[$1.origin] = $1.principal }
        allowedPeers = AllowedPeerEntry.all(in: keys)
        sessionLimits = SessionLimitKey.limits(in: keys)
        renewalFraction = RenewalKey.fraction(in: keys)
        extensionData = ExtensionData(keys["ExtensionData"]?.dictionary ?? [:])
    }

    /// The identifier of the configured extension: `ExtensionIdentifier`.
    public var extensionIdentifier: String? { keys["ExtensionIdentifier"]?.string }
    /// The team identifier of the extension, `apple`: `TeamIdentifier`.
    public var teamIdentifier: String? { keys["TeamIdentifier"]?.string }
    /// The kind of sign-on, `Credential`: `Type`.
    public var type: String? { keys["Type"]?.string }
    /// The programs that get no sign-on: `DeniedBundleIdentifiers`. A Mac's are bundle identifiers, which are ignored on Linux; Linux's are
    /// paths or systemd units.
    public var deniedBundleIdentifiers: [String]? { keys["DeniedBundleIdentifiers"]?.strings }
    /// How requests are handled while the screen is locked: `ScreenLockedBehavior`. Without it a Mac cancels requests, and this project
    /// answers them.
    public var screenLockedBehavior: ScreenLockedBehavior? {
        keys["ScreenLockedBehavior"]?.string.flatMap(ScreenLockedBehavior.init(rawValue:))
    }
    /// `PayloadType`.
    public var payloadType: String? { keys["PayloadType"]?.string }
    /// `PayloadUUID`.
    public var payloadUUID: String? { keys["PayloadUUID"]?.string }
    /// `PayloadIdentifier`.
    public var payloadIdentifier: String? { keys["PayloadIdentifier"]?.string }
    /// `PayloadVersion`.
    public var payloadVersion: Int? { keys["PayloadVersion"]?.integer }
    /// `PayloadDisplayName`.
    public var payloadDisplayName: String? { keys["PayloadDisplayName"]?.string }
    /// `PayloadDescription`.
    public var payloadDescription: String? { keys["PayloadDescription"]?.string }
    /// `PayloadOrganization`.
    public var payloadOrganization: String? { keys["PayloadOrganization"]?.string }

    /// The user's certificate, as libkrb5 names it: `CertificateIdentity`, a key of this project.
    public var certificateIdentity: String? { keys[CertificateIdentityKey.name]?.string }

    /// The cache with the FAST armor ticket for sign-ins: `ArmorCache`, a key of this project.
    public var armorCache: String? { keys[ArmorCacheKey.name]?.string }

    private var signInRules: SignInRules {
        SignInRules(
            allowsPassword: extensionData.allowPassword ?? true,
            allowsCertificate: extensionData.allowSmartCard ?? true,
            prefersCertificate: extensionData.startInSmartCardMode ?? false,
            certificateIdentity: certificateIdentity,
            issuerFilter: extensionData.identityIssuerAutoSelectFilter,
            armorCache: armorCache,
            userNameLabel: extensionData.customUsernameLabel,
            helpText: extensionData.helpText,
            allowsAutomaticLogin: extensionData.allowAutomaticLogin ?? true
        )
    }

    /// The principal. A realm that differs from the payload's only in case is replaced by the payload's.
    private var principalName: String? {
        guard let name = extensionData.principalName, let sign = name.lastIndex(of: "@"), !name[..<sign].hasSuffix("\\") else {
            return extensionData.principalName
        }
        let isOwnRealm = name[name.index(after: sign)...].uppercased() == realm.uppercased()
        return isOwnRealm ? "\(name[...sign])\(realm)" : name
    }

    /// Returns the configuration that the payload defines. `source` is the profile's file, for the reasons of decisions.
    public func configuration(source: String) -> ExtensionConfiguration {
        var configuration = ExtensionConfiguration(
            realm: realm,
            hosts: hosts,
            plainHTTPHosts: plainHTTPHosts,
            principalName: principalName,
            isDefaultRealm: extensionData.isDefaultRealm ?? false,
            domainRealmMapping: extensionData.domainRealmMapping ?? [:],
            renewalFraction: renewalFraction,
            passwords: extensionData.passwordRules,
            source: source
        )
        configuration.preemptiveHosts = preemptiveHosts
        configuration.delegationHosts = delegationHosts
        configuration.unconditionalDelegationHosts = unconditionalDelegationHosts
        configuration.optionalMutualAuthenticationHosts = optionalMutualAuthenticationHosts
        configuration.noMutualAuthenticationHosts = noMutualAuthenticationHosts
        configuration.noChannelBindingHosts = noChannelBindingHosts
        configuration.servicePrincipals = servicePrincipals
        configuration.preferredKDCs = extensionData.preferredKDCs ?? []
        configuration.sessionLimits = sessionLimits
        configuration.screenLockedBehavior = screenLockedBehavior
        configuration.allowedPeers = allowedPeers
        configuration.credentialCallers = extensionData.credentialCallers
        configuration.deniedCallers = (deniedBundleIdentifiers ?? []).compactMap { CredentialCaller($0) }
        configuration.credentialUseMode = extensionData.credentialUseMode
        configuration.monitorsCredentials = extensionData.monitorCredentialsCache ?? true
        configuration.signIn = signInRules
        return configuration
    }
}
