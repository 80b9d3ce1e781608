public import SignOnPolicy

/// One payload for the Kerberos extension.
public struct ExtensionPayload: Sendable, Hashable {
    /// The payload's index in the file, counted from 0 and including other payloads.
    public let index: Int
    /// The payload's place in the file.
    public let path: ProfileKeyPath
    /// The user's realm: `Realm`.
    public let realm: String
    /// The hosts whose challenges are answered: `Hosts`.
    public let hosts: [HostRule]
    /// The values by key as they were found, without defaults and including unknown keys; those of `ExtensionData` are in the dictionary of
    /// that name. ``configuration(source:)`` has the values of the used keys.
    public let keys: [String: ProfileValue]

    /// Creates a payload; nil if `Realm` or `Hosts` is missing or has another type, which the report states.
    init?(index: Int, path: ProfileKeyPath, keys: [String: ProfileValue]) {
        guard let realm = keys["Realm"]?.string, let hosts = keys["Hosts"]?.strings else { return nil }
        self.index = index
        self.path = path
        self.keys = keys
        self.realm = realm
        self.hosts = hosts.hostRules
    }

    /// Returns the configuration that the payload defines. `source` is the profile's file, for the reasons of decisions.
    public func configuration(source: String) -> ExtensionConfiguration {
        var configuration = ExtensionConfiguration(realm: realm, source: source)
        let data = keys["ExtensionData"]?.dictionary ?? [:]
        for (declared, values) in [(ProfileKey.payload, keys), (ProfileKey.extensionData, data)] {
            for key in declared {
                if let value = values[key.name] { key.setting?.apply(value, &configuration) }
            }
        }
        return configuration
    }
}

extension [String] {
    /// The entries that are valid host rules.
    var hostRules: [HostRule] { compactMap { try? HostRule($0) } }
}
