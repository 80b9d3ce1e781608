public import HTTPNegotiate

/// One payload for the Kerberos extension, with every key typed.
public struct ExtensionPayload: Sendable, Hashable {
    /// The payload's place in the file, counted from 0, payloads for others included.
    public let index: Int
    /// Where it stands in the file.
    public let path: ProfileKeyPath
    /// The realm where the user signs in: `Realm`.
    public let realm: String
    /// The hosts whose challenges are answered: `Hosts`.
    public let hosts: [HostRule]
    /// The hosts that are answered over plain http as well: `PlainHTTPHosts`, a key of our own that a Mac passes over.
    public let plainHTTPHosts: [HostRule]
    /// The hosts that get a ticket without asking for it, once they have asked for one: `PreemptiveHosts`, a key of our own.
    public let preemptiveHosts: [HostRule]
    /// The hosts that get the user's own ticket if the KDC vouches for them: `DelegationHosts`, a key of our own.
    public let delegationHosts: [HostRule]
    /// The hosts that get the user's own ticket whatever the KDC says of them: `UnconditionalDelegationHosts`, a key of our own.
    public let unconditionalDelegationHosts: [HostRule]
    /// The hosts that need not prove themselves, but whose proof must hold: `OptionalMutualAuthenticationHosts`, a key of our own.
    public let optionalMutualAuthenticationHosts: [HostRule]
    /// The hosts that are not asked to prove themselves: `NoMutualAuthenticationHosts`, a key of our own.
    public let noMutualAuthenticationHosts: [HostRule]
    /// The hosts whose TLS ends before the server, so that a ticket can't be bound to it: `NoChannelBindingHosts`, a key of our own.
    public let noChannelBindingHosts: [HostRule]
    /// The service principals that differ from `HTTP/host`, each for one origin: `ServicePrincipals`, a key of our own.
    public let servicePrincipals: [Origin: String]
    /// The other local users who get tokens from this user's agent: `AllowedPeers`, a key of our own.
    public let allowedPeers: [AllowedPeer]
    /// When its sessions end although nobody signs out: `MaxSessionLifetime`, `SignOutAt`, `IdleSignOutAfter`, `SignOutOnLock`,
    /// `SignOutOnSessionEnd` and `SignOutExempt`, keys of our own.
    public let sessionLimits: SessionLimits
    /// After which part of its life a ticket is got anew: `RenewAtFraction`, a key of our own.
    public let renewalFraction: Double?
    /// The keys of `ExtensionData`.
    public let extensionData: ExtensionData
    private let keys: [String: ProfileValue]

    /// Reads a payload; nil when a key that every use needs is not there or not right, which the report says in full.
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

    /// The extension that the payload configures: `ExtensionIdentifier`.
    public var extensionIdentifier: String? { keys["ExtensionIdentifier"]?.string }
    /// The team that made the extension, `apple`: `TeamIdentifier`.
    public var teamIdentifier: String? { keys["TeamIdentifier"]?.string }
    /// The kind of sign-on, `Credential`: `Type`.
    public var type: String? { keys["Type"]?.string }
    /// The programs that do without sign-on: `DeniedBundleIdentifiers`. Of a Mac's by bundle identifier, which means nothing on Linux; of
    /// Linux's by path or systemd unit.
    public var deniedBundleIdentifiers: [String]? { keys["DeniedBundleIdentifiers"]?.strings }
    /// What becomes of a request while the screen is locked: `ScreenLockedBehavior`. Where it is not there a Mac cancels it,
    /// and here it is answered.
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

    /// Where the certificate is that the user signs in with, as libkrb5 names it: `CertificateIdentity`, a key of our own.
    public var certificateIdentity: String? { keys[CertificateIdentityKey.name]?.string }

    /// The cache of the ticket that protects sign-ins: `ArmorCache`, a key of our own.
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

    /// The principal; a realm in it that differs from the payload's in case only is the payload's.
    private var principalName: String? {
        guard let name = extensionData.principalName, let sign = name.lastIndex(of: "@"), !name[..<sign].hasSuffix("\\") else {
            return extensionData.principalName
        }
        let isOwnRealm = name[name.index(after: sign)...].uppercased() == realm.uppercased()
        return isOwnRealm ? "\(name[...sign])\(realm)" : name
    }

    /// What the payload says to those who answer challenges. `source` is the profile's file, for their verdicts.
    public func configuration(source: String) -> ExtensionConfiguration {
        ExtensionConfiguration(
            realm: realm,
            hosts: hosts,
            plainHTTPHosts: plainHTTPHosts,
            preemptiveHosts: preemptiveHosts,
            delegationHosts: delegationHosts,
            unconditionalDelegationHosts: unconditionalDelegationHosts,
            optionalMutualAuthenticationHosts: optionalMutualAuthenticationHosts,
            noMutualAuthenticationHosts: noMutualAuthenticationHosts,
            noChannelBindingHosts: noChannelBindingHosts,
            servicePrincipals: servicePrincipals,
            principalName: principalName,
            isDefaultRealm: extensionData.isDefaultRealm ?? false,
            domainRealmMapping: extensionData.domainRealmMapping ?? [:],
            preferredKDCs: extensionData.preferredKDCs ?? [],
            sessionLimits: sessionLimits,
            renewalFraction: renewalFraction,
            screenLockedBehavior: screenLockedBehavior,
            allowedPeers: allowedPeers,
            credentialCallers: extensionData.credentialCallers,
            passwords: extensionData.passwordRules,
            deniedCallers: (deniedBundleIdentifiers ?? []).compactMap { CredentialCaller($0) },
            credentialUseMode: extensionData.credentialUseMode,
            monitorsCredentials: extensionData.monitorCredentialsCache ?? true,
            signIn: signInRules,
            source: source
        )
    }
}
