public import Foundation
public import HTTPNegotiate

/// The 38 keys of a payload's `ExtensionData`, each nil when the payload does not have it.
///
/// ``withDefaults`` fills in what the format documents. Which keys are acted on: <doc:Keys>.
public struct ExtensionData: Sendable, Hashable {
    /// The values by key, as they were found; keys that are not known included.
    public let values: [String: ProfileValue]

    /// Takes the values; one of a wrong type reads as if it were not there.
    public init(_ values: [String: ProfileValue] = [:]) { self.values = values }

    /// The documented defaults alone.
    public static let documentedDefaults = ExtensionData(
        Dictionary(
            uniqueKeysWithValues: ProfileKey.extensionData.compactMap { key in key.defaultValue.map { (key.name, $0) } }
        )
    )

    /// The same, with the documented default for every key that is not there.
    public var withDefaults: ExtensionData {
        ExtensionData(values.merging(ExtensionData.documentedDefaults.values) { own, _ in own })
    }

    /// DNS suffixes by the realm that their services are in. Acted on.
    public var domainRealmMapping: [String: [String]]? {
        values["domainRealmMapping"]?.dictionary?.compactMapValues(\.strings)
    }
    /// The KDCs to try first, in their order. Acted on.
    public var preferredKDCs: [PreferredKDC]? {
        values["preferredKDCs"]?.strings?.compactMap { try? PreferredKDC($0) }
    }
    /// When a program that picks no credential of its own gets this one.
    public var credentialUseMode: CredentialUseMode? {
        values["credentialUseMode"]?.string.flatMap(CredentialUseMode.init(rawValue:))
    }
    /// The principal to sign in as, with or without its realm. Acted on.
    public var principalName: String? { values["principalName"]?.string }
    /// Whether this realm counts where nothing else decides. Acted on.
    public var isDefaultRealm: Bool? { values["isDefaultRealm"]?.boolean }
    /// A cache of a Mac's collection, by its GSS name. Deprecated.
    public var cacheName: String? { values["cacheName"]?.string }
    /// The `PayloadUUID` of the certificate to sign in with (PKINIT).
    public var certificateUUID: String? { values["certificateUUID"]?.string }
    /// The Active Directory site.
    public var siteCode: String? { values["siteCode"]?.string }
    /// Whether the site is looked up.
    public var useSiteAutoDiscovery: Bool? { values["useSiteAutoDiscovery"]?.boolean }
    /// Whether LDAP connections must use TLS.
    public var requireTLSForLDAP: Bool? { values["requireTLSForLDAP"]?.boolean }
    /// Seconds that a change takes to reach every domain controller. Deprecated.
    public var replicationTime: Int? { values["replicationTime"]?.integer }
}

/// Passwords: their age, their rules, how they are changed and kept.
extension ExtensionData {
    /// Whether a user may change the password.
    public var allowPasswordChange: Bool? { values["allowPasswordChange"]?.boolean }
    /// Whether a password may be saved.
    public var allowAutomaticLogin: Bool? { values["allowAutomaticLogin"]?.boolean }
    /// Whether a saved password is released only to somebody present.
    public var requireUserPresence: Bool? { values["requireUserPresence"]?.boolean }
    /// Days that a password may be used. Deprecated.
    public var pwExpireOverride: Int? { values["pwExpireOverride"]?.integer }
    /// Days before expiry at which a user is told.
    public var pwNotificationDays: Int? { values["pwNotificationDays"]?.integer }
    /// The least length of a password.
    public var pwReqLength: Int? { values["pwReqLength"]?.integer }
    /// Whether a password must be complex as Active Directory has it.
    public var pwReqComplexity: Bool? { values["pwReqComplexity"]?.boolean }
    /// The least age of a password before it may be changed; days by all appearance.
    public var pwReqMinAge: Int? { values["pwReqMinAge"]?.integer }
    /// How many former passwords may not come again.
    public var pwReqHistory: Int? { values["pwReqHistory"]?.integer }
    /// The rules for passwords in words.
    public var pwReqText: String? { values["pwReqText"]?.string }
    /// The same as RTF.
    public var pwReqRTFData: Data? { values["pwReqRTFData"]?.data }
    /// The page where a password is changed.
    public var pwChangeURL: String? { values["pwChangeURL"]?.string }
    /// What these keys say together.
    public var passwordRules: PasswordRules {
        PasswordRules(
            minimumLength: pwReqLength,
            requiresComplexity: pwReqComplexity ?? false,
            requirementsText: pwReqText,
            minimumAge: pwReqMinAge,
            history: pwReqHistory,
            changeURL: pwChangeURL,
            isChangeAllowed: allowPasswordChange ?? true,
            notificationDays: pwNotificationDays ?? 15,
            expireOverride: pwExpireOverride,
            givesNotices: performKerberosOnly != true
        )
    }
    /// Whether the local account gets the same password.
    public var syncLocalPassword: Bool? { values["syncLocalPassword"]?.boolean }
}

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
