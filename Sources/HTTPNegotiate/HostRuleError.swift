/// Why an entry of a profile is no host rule, or no address of a KDC.
public struct HostRuleError: Error, Sendable, Hashable, CustomStringConvertible {
    /// What is wrong with the entry.
    public struct Code: RawRepresentable, Sendable, Hashable, CustomStringConvertible {
        /// The stable name, such as `glob`.
        public let rawValue: String

        /// Makes a code.
        public init(rawValue: String) { self.rawValue = rawValue }

        /// The stable name.
        public var description: String { rawValue }

        /// Nothing is there.
        public static let empty = Code(rawValue: "empty")
        /// A character outside ASCII.
        public static let notASCII = Code(rawValue: "notASCII")
        /// A port where none may be, or one that is no port.
        public static let port = Code(rawValue: "port")
        /// A wildcard such as `*.example.com`.
        public static let glob = Code(rawValue: "glob")
        /// A scheme, user or path where only a host may be, or one that is not known.
        public static let schemeOrPath = Code(rawValue: "schemeOrPath")
        /// An IP address, which no service principal is named after.
        public static let address = Code(rawValue: "address")
        /// A label that no host name has.
        public static let badLabel = Code(rawValue: "badLabel")
    }

    /// What is wrong with the entry.
    public let code: Code
    /// The entry as it was written.
    public let text: String
    /// A sentence that says what is wrong and what to write.
    public let reason: String

    /// Makes an error.
    ///
    /// - Parameters:
    ///   - code: What is wrong.
    ///   - text: The entry as it was written.
    ///   - reason: A sentence that says what to write.
    public init(_ code: Code, text: String, reason: String) {
        self.code = code
        self.text = text
        self.reason = reason
    }

    /// The reason.
    public var description: String { reason }
}

extension HostRuleError {
    /// The same verdict on a host, in the words of a profile.
    init(_ problem: HostName.Problem, text: String) {
        let code: Code =
            switch problem {
            case .empty: .empty
            case .notASCII: .notASCII
            case .badCharacter(UInt8(ascii: "*")), .badCharacter(UInt8(ascii: "?")): .glob
            case .badAddress: .address
            default: .badLabel
            }
        let isSuffix = text.utf8.first == UInt8(ascii: ".")
        let host = isSuffix ? text[text.utf8.index(after: text.startIndex)...] : text[...]
        if code == .notASCII, let form = HostName.asciiForm(of: host) {
            let reason = "The host in \(text.debugDescription) is not ASCII; write \(isSuffix ? "." : "")\(form)."
            self.init(code, text: text, reason: reason)
        } else {
            self.init(code, text: text, reason: "The host in \(text.debugDescription) \(problem.clause).")
        }
    }
}
