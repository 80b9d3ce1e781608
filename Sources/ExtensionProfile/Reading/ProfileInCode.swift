internal import Foundation

extension Profile {
    /// Creates a profile without a file, for programs and tests whose configuration is in code.
    ///
    /// ```swift
    /// let profile = try Profile(realm: "CORP.EXAMPLE", hosts: [".corp.example", "corp.example"])
    /// ```
    ///
    /// - Parameters:
    ///   - realm: The realm, which is case-sensitive.
    ///   - hosts: The hosts that are answered, as in the key `Hosts`: a leading dot covers the subdomains, and only those.
    ///   - plainHTTPHosts: The hosts that are answered over http too, as in the key `PlainHTTPHosts`.
    ///   - principalName: The principal that signs in if none is named; nil is the user.
    /// - Throws: ``ProfileError``, such as `badValue` for an invalid host.
    public init(realm: String, hosts: [String], plainHTTPHosts: [String] = [], principalName: String? = nil) throws(ProfileError) {
        let source = "the program's own profile"
        let payload = Payload(
            realm: realm,
            hosts: hosts,
            plainHTTPHosts: plainHTTPHosts.isEmpty ? nil : plainHTTPHosts,
            data: principalName.map { Payload.ExtensionData(principalName: $0) }
        )
        let encoder = PropertyListEncoder()
        encoder.outputFormat = .xml
        guard let data = try? encoder.encode(payload) else {
            throw ProfileError(.malformed, source: source, reason: "The realm or a host cannot be written to a profile. Correct it.")
        }
        try self.init(data: data, source: source)
    }

    /// The payload, so that a profile in code is checked like one in a file.
    private struct Payload: Encodable {
        let identifier = ProfileReader.extensionIdentifier
        let type = "Credential"
        let realm: String
        let hosts: [String]
        let plainHTTPHosts: [String]?
        let data: ExtensionData?

        struct ExtensionData: Encodable {
            let principalName: String
        }

        enum CodingKeys: String, CodingKey {
            case identifier = "ExtensionIdentifier"
            case type = "Type"
            case realm = "Realm"
            case hosts = "Hosts"
            case plainHTTPHosts = "PlainHTTPHosts"
            case data = "ExtensionData"
        }
    }
}
