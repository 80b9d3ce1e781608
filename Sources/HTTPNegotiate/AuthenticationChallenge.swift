/// One challenge of a `WWW-Authenticate` field (RFC 9110 sections 11.3 and 11.6.1).
public struct AuthenticationChallenge: Sendable, Hashable {
    /// An auth-param of a challenge (RFC 9110 section 11.2).
    public struct Parameter: Sendable, Hashable {
        /// The name in lower case.
        public let name: String
        /// The value, without quotes and escapes.
        public let value: String

        /// Makes a parameter; the name is put into lower case.
        public init(name: String, value: String) {
            self.name = name.asciiLowercased
            self.value = value
        }
    }

    /// The scheme as it was sent. Schemes compare without regard to case: see ``hasScheme(_:)``.
    public let scheme: String
    /// The token of a scheme that has one instead of parameters.
    public let token68: String?
    /// The parameters in the order they were sent, repeated names included.
    public let parameters: [Parameter]

    /// Makes a challenge.
    public init(scheme: String, token68: String? = nil, parameters: [Parameter] = []) {
        self.scheme = scheme
        self.token68 = token68
        self.parameters = parameters
    }

    /// Whether this is a challenge of a scheme; case does not matter.
    public func hasScheme(_ name: String) -> Bool { scheme.asciiLowercased == name.asciiLowercased }

    /// The first parameter of a name; case does not matter.
    public func parameter(_ name: String) -> String? {
        let name = name.asciiLowercased
        return parameters.first { $0.name == name }?.value
    }

    /// Reads all challenges of a message, in their order.
    ///
    /// Takes time linear in the text and never throws: a challenge that breaks the grammar is left out, and reading goes on at the next.
    /// What stands inside a quoted string is never a challenge.
    ///
    /// - Parameter fieldValues: The values of the field's lines, in their order.
    public static func parse(_ fieldValues: [String]) -> [AuthenticationChallenge] {
        ChallengeScanner.scan(fieldValues).compactMap { finding in
            if case .challenge(let challenge) = finding { challenge } else { nil }
        }
    }
}
