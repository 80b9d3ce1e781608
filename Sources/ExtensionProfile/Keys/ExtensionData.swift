public import Foundation
public import SignOnPolicy

/// The 38 keys of a payload's `ExtensionData`. Each is nil if the payload does not have it, or if its value has another type.
///
/// ``withDefaults`` adds the documented defaults. For the keys that have an effect, see <doc:Keys>.
public struct ExtensionData: Sendable, Hashable {
    /// The values by key as they were found, including unknown keys.
    public let values: [String: ProfileValue]

    /// Creates extension data. A value of a wrong type reads as nil.
    public init(_ values: [String: ProfileValue] = [:]) { self.values = values }

    /// Only the documented defaults.
    public static let documentedDefaults = ExtensionData(
        Dictionary(
            uniqueKeysWithValues: ProfileKey.extensionData.compactMap { key in key.defaultValue.map { (key.name, $0) } }
        )
    )

    /// The same data, with the documented default for each missing key.
    public var withDefaults: ExtensionData {
        ExtensionData(values.merging(ExtensionData.documentedDefaults.values) { own, _ in own })
    }

    /// The DNS suffixes of each realm's services.
    public var domainRealmMapping: [String: [String]]? {
        values["domainRealmMapping"]?.dictionary?.compactMapValues(\.strings)
    }
    /// The KDCs to try first, in order.
    public var preferredKDCs: [PreferredKDC]? {
        values["preferredKDCs"]?.strings?.compactMap { try? PreferredKDC($0) }
    }
    /// When the extension's credential answers, and when the one that a program names.
    public var credentialUseMode: CredentialUseMode? {
        values["credentialUseMode"]?.string.flatMap(CredentialUseMode.init(rawValue:))
    }
    /// The principal that signs in, with or without a realm.
    public var principalName: String? { values["principalName"]?.string }
    /// Whether this realm is used if nothing else selects one.
    public var isDefaultRealm: Bool? { values["isDefaultRealm"]?.boolean }
    /// A cache of a Mac's collection, by its GSS name. Deprecated.
    public var cacheName: String? { values["cacheName"]?.string }
    /// The `PayloadUUID` of the certificate for signing in (PKINIT).
    public var certificateUUID: String? { values["certificateUUID"]?.string }
    /// The Active Directory site.
    public var siteCode: String? { values["siteCode"]?.string }
    /// Whether the site is looked up.
    public var useSiteAutoDiscovery: Bool? { values["useSiteAutoDiscovery"]?.boolean }
    /// Whether LDAP connections must use TLS.
    public var requireTLSForLDAP: Bool? { values["requireTLSForLDAP"]?.boolean }
    /// The number of seconds until a change reaches every domain controller. Deprecated.
    public var replicationTime: Int? { values["replicationTime"]?.integer }
}

/// The keys for passwords: their age, their rules, and how they are changed and stored.
extension ExtensionData {
    /// Whether the user may change the password.
    public var allowPasswordChange: Bool? { values["allowPasswordChange"]?.boolean }
    /// Whether a password may be stored.
    public var allowAutomaticLogin: Bool? { values["allowAutomaticLogin"]?.boolean }
    /// Whether a stored password is released only if the user is present.
    public var requireUserPresence: Bool? { values["requireUserPresence"]?.boolean }
    /// The number of days until a password expires. Deprecated.
    public var pwExpireOverride: Int? { values["pwExpireOverride"]?.integer }
    /// How many days before the password expires the user is notified.
    public var pwNotificationDays: Int? { values["pwNotificationDays"]?.integer }
    /// The minimum length of a password.
    public var pwReqLength: Int? { values["pwReqLength"]?.integer }
    /// Whether a password must meet Active Directory's complexity rules.
    public var pwReqComplexity: Bool? { values["pwReqComplexity"]?.boolean }
    /// The minimum age of a password before it may be changed, presumably in days.
    public var pwReqMinAge: Int? { values["pwReqMinAge"]?.integer }
    /// How many previous passwords must not be reused.
    public var pwReqHistory: Int? { values["pwReqHistory"]?.integer }
    /// The password rules as text.
    public var pwReqText: String? { values["pwReqText"]?.string }
    /// The password rules as RTF.
    public var pwReqRTFData: Data? { values["pwReqRTFData"]?.data }
    /// The page on which a password is changed.
    public var pwChangeURL: String? { values["pwChangeURL"]?.string }
    /// The password rules that these keys define.
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
    /// Whether the local account's password is synchronized.
    public var syncLocalPassword: Bool? { values["syncLocalPassword"]?.boolean }
}

/// The keys for the programs that may use the credential, and for the sign-in prompt.
extension ExtensionData {
    /// The programs that may use the tickets: by bundle identifier on a Mac, by path or systemd unit on Linux.
    public var credentialBundleIdACL: [String]? { values["credentialBundleIdACL"]?.strings }
    /// Whether managed programs may use them as well.
    public var includeManagedAppsInBundleIdACL: Bool? { values["includeManagedAppsInBundleIdACL"]?.boolean }
    /// Whether the system's Kerberos tools may use them as well.
    public var includeKerberosAppsInBundleIdACL: Bool? { values["includeKerberosAppsInBundleIdACL"]?.boolean }
    /// The Linux programs in ``credentialBundleIdACL``, and the Kerberos tools if they are included. Nil, which allows every program, if
    /// the list has no entry for Linux, so that a profile for Macs denies no program here.
    public var credentialCallers: [CredentialCaller]? {
        let named = (credentialBundleIdACL ?? []).compactMap { CredentialCaller($0) }
        guard !named.isEmpty else { return nil }
        return named + (includeKerberosAppsInBundleIdACL == true ? CredentialCaller.kerberosTools : [])
    }
    /// Whether the ticket must come from Platform SSO.
    public var usePlatformSSOTGT: Bool? { values["usePlatformSSOTGT"]?.boolean }
    /// Whether the user may sign in manually if that ticket is missing.
    public var allowPlatformSSOAuthFallback: Bool? { values["allowPlatformSSOAuthFallback"]?.boolean }
    /// Whether everything except Kerberos, such as password expiration notices, is disabled.
    public var performKerberosOnly: Bool? { values["performKerberosOnly"]?.boolean }
    /// Whether tickets are acquired before a request needs them.
    public var monitorCredentialsCache: Bool? { values["monitorCredentialsCache"]?.boolean }
    /// The prompt's label for the user name.
    public var customUsernameLabel: String? { values["customUsernameLabel"]?.string }
    /// A help text for the prompt.
    public var helpText: String? { values["helpText"]?.string }
    /// Whether the user is asked to sign in only when a challenge arrives.
    public var delayUserSetup: Bool? { values["delayUserSetup"]?.boolean }
    /// A wildcard pattern for the issuers of eligible smart card certificates.
    public var identityIssuerAutoSelectFilter: String? { values["identityIssuerAutoSelectFilter"]?.string }
    /// Whether signing in with a smart card is allowed.
    public var allowSmartCard: Bool? { values["allowSmartCard"]?.boolean }
    /// Whether signing in with a password is allowed.
    public var allowPassword: Bool? { values["allowPassword"]?.boolean }
    /// Whether a sign-in starts with the smart card.
    public var startInSmartCardMode: Bool? { values["startInSmartCardMode"]?.boolean }
}
