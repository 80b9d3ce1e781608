/// Why a profile cannot be used: the file, the key where there is one, what was found and what belongs there.
///
/// Compare by ``code``; new codes may be added.
public struct ProfileError: Error, Sendable, Hashable, CustomStringConvertible {
    /// What kind of fault it is.
    public struct Code: RawRepresentable, Sendable, Hashable, CustomStringConvertible {
        /// The stable name, such as `wrongType`.
        public let rawValue: String

        /// Makes a code; one that is not listed here is a later version's.
        public init(rawValue: String) { self.rawValue = rawValue }

        /// The stable name.
        public var description: String { rawValue }

        /// The file cannot be opened or read.
        public static let unreadable = Code(rawValue: "unreadable")
        /// The file or its directory belongs to, or can be written by, somebody who must not decide this.
        public static let untrusted = Code(rawValue: "untrusted")
        /// The file is larger than any profile.
        public static let tooLarge = Code(rawValue: "tooLarge")
        /// The file holds nothing.
        public static let empty = Code(rawValue: "empty")
        /// The file is signed (CMS), and the signature can't be checked on this machine.
        public static let signed = Code(rawValue: "signed")
        /// The file is signed, and the signature does not match its content.
        public static let badSignature = Code(rawValue: "badSignature")
        /// The file is not signed, and the machine's policy wants it signed.
        public static let unsigned = Code(rawValue: "unsigned")
        /// The file is signed by somebody whom the anchors of the machine's policy do not vouch for.
        public static let untrustedSigner = Code(rawValue: "untrustedSigner")
        /// The machine's policy can't be used, so that no profile can.
        public static let policyUnusable = Code(rawValue: "policyUnusable")
        /// The file's payloads are encrypted for one device.
        public static let encrypted = Code(rawValue: "encrypted")
        /// The file is no property list, or no YAML.
        public static let malformed = Code(rawValue: "malformed")
        /// The file is well formed, and holds no payload for the Kerberos extension.
        public static let noKerberosPayload = Code(rawValue: "noKerberosPayload")
        /// A key that is acted on has a value of another type.
        public static let wrongType = Code(rawValue: "wrongType")
        /// A key that is acted on has a value that it cannot have.
        public static let badValue = Code(rawValue: "badValue")
        /// A required key is not there.
        public static let missingKey = Code(rawValue: "missingKey")
        /// A host stands twice, in one file or in two.
        public static let repeatedHost = Code(rawValue: "repeatedHost")
    }

    /// What kind of fault it is.
    public let code: Code
    /// The file, as it was named.
    public let source: String
    /// Where in the file, if the fault has a place.
    public let keyPath: ProfileKeyPath?
    /// A sentence that says what was found and what to do.
    public let reason: String

    /// Makes an error.
    ///
    /// - Parameters:
    ///   - code: The kind of fault.
    ///   - source: The file, as it was named.
    ///   - keyPath: Where in the file.
    ///   - reason: A sentence that says what was found and what to do.
    public init(_ code: Code, source: String, keyPath: ProfileKeyPath? = nil, reason: String) {
        self.code = code
        self.source = source
        self.keyPath = keyPath
        self.reason = reason
    }

    /// The whole message: file, key and sentence.
    public var message: String {
        guard let keyPath, !keyPath.isEmpty else { return "\(source): \(reason)" }
        return "\(source): \(keyPath): \(reason)"
    }

    /// The whole message.
    public var description: String { message }
}
