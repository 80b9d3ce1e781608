/// Something about a profile that does not stop the others from being used.
public struct ProfileWarning: Sendable, Hashable, CustomStringConvertible {
    /// What kind of remark it is.
    public struct Code: RawRepresentable, Sendable, Hashable, CustomStringConvertible {
        /// The stable name, such as `rejected`.
        public let rawValue: String

        /// Makes a code; one that is not listed here is a later version's.
        public init(rawValue: String) { self.rawValue = rawValue }

        /// The stable name.
        public var description: String { rawValue }

        /// The file or directory was not read, or not taken; ``ProfileWarning/error`` says why.
        public static let rejected = Code(rawValue: "rejected")
        /// The file is used, and one of its keys is probably misspelt.
        public static let misspeltKey = Code(rawValue: "misspeltKey")
        /// The file is used, and is signed by somebody whom no anchor vouches for.
        public static let untrustedSigner = Code(rawValue: "untrustedSigner")
        /// More than one profile says that its realm is the default.
        public static let severalDefaultRealms = Code(rawValue: "severalDefaultRealms")
    }

    /// What kind of remark it is.
    public let code: Code
    /// The file or directory.
    public let source: String
    /// The whole message, with the file's name.
    public let message: String
    /// Why the file was rejected, if it was.
    public let error: ProfileError?

    init(_ code: Code, source: String, message: String, error: ProfileError? = nil) {
        self.code = code
        self.source = source
        self.message = message
        self.error = error
    }

    /// The message.
    public var description: String { message }
}
