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
