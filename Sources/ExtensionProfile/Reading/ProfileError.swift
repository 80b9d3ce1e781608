/// The reason that a profile cannot be used: the file, the key if there is one, what was found and what was expected.
///
/// Compare errors by ``code``; new codes may be added.
public struct ProfileError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The kind of fault.
    public struct Code: RawRepresentable, Sendable, Hashable, CustomStringConvertible {
        /// The stable name, such as `wrongType`.
        public let rawValue: String

        /// Creates a code. Later versions may have codes that are not listed here.
        public init(rawValue: String) { self.rawValue = rawValue }

        /// The stable name.
        public var description: String { rawValue }

        /// The file cannot be opened or read.
        public static let unreadable = Code(rawValue: "unreadable")
        /// The file or its directory cannot be created or written.
        public static let unwritable = Code(rawValue: "unwritable")
        /// The file or its directory has an owner that is not allowed, or others can write to it.
        public static let untrusted = Code(rawValue: "untrusted")
        /// The file is larger than the maximum of 1 MiB.
        public static let tooLarge = Code(rawValue: "tooLarge")
        /// The file is empty.
        public static let empty = Code(rawValue: "empty")
        /// The file is signed (CMS), and the signature cannot be verified on this machine.
        public static let signed = Code(rawValue: "signed")
        /// The file is signed, and the signature does not match its content.
        public static let badSignature = Code(rawValue: "badSignature")
        /// The file is not signed, and the machine's policy requires a signature.
        public static let unsigned = Code(rawValue: "unsigned")
        /// The file is signed, and no anchor of the machine's policy covers the signer.
        public static let untrustedSigner = Code(rawValue: "untrustedSigner")
        /// The machine's policy cannot be used, so that no profile can.
        public static let policyUnusable = Code(rawValue: "policyUnusable")
        /// The file's payloads are encrypted for one device.
        public static let encrypted = Code(rawValue: "encrypted")
        /// The file is neither a property list nor YAML.
        public static let malformed = Code(rawValue: "malformed")
        /// The file is well formed, and has no payload for the Kerberos extension.
        public static let noKerberosPayload = Code(rawValue: "noKerberosPayload")
        /// A key that has an effect has a value of another type.
        public static let wrongType = Code(rawValue: "wrongType")
        /// A key that has an effect has an invalid value.
        public static let badValue = Code(rawValue: "badValue")
        /// A required key is missing.
        public static let missingKey = Code(rawValue: "missingKey")
        /// A host occurs twice, in one file or in two.
        public static let repeatedHost = Code(rawValue: "repeatedHost")
    }

    /// The kind of fault.
    public let code: Code
    /// The name of the file as the caller passed it.
    public let source: String
    /// The place in the file, if the fault has one.
    public let keyPath: ProfileKeyPath?
    /// A sentence with what was found and what to do.
    public let reason: String

    /// Creates an error.
    ///
    /// - Parameters:
    ///   - code: The kind of fault.
    ///   - source: The name of the file as the caller passed it.
    ///   - keyPath: The place in the file.
    ///   - reason: A sentence with what was found and what to do.
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
