/// A challenge in a `WWW-Authenticate` field (RFC 9110 sections 11.3 and 11.6.1).
public struct AuthenticationChallenge: Sendable, Hashable {
    /// An auth-param of a challenge (RFC 9110 section 11.2).
    public struct Parameter: Sendable, Hashable {
        /// The name in lower case.
        public let name: String
        /// The value, without quotes and escapes.
        public let value: String

        /// Creates a parameter and converts the name to lower case.
        public init(name: String, value: String) {
            self.name = name.asciiLowercased
            self.value = value
        }
    }

    /// The scheme as sent. Compare schemes, which are case-insensitive, with ``hasScheme(_:)``.
    public let scheme: String
    /// The token, for schemes that use one instead of parameters.
    public let token68: String?
    /// The parameters in the order in which they were sent, including repeated names.
    public let parameters: [Parameter]

    /// Creates a challenge.
    public init(scheme: String, token68: String? = nil, parameters: [Parameter] = []) {
        self.scheme = scheme
        self.token68 = token68
        self.parameters = parameters
    }

    /// Whether the challenge has the given scheme, ignoring case.
    public func hasScheme(_ name: String) -> Bool { scheme.asciiLowercased == name.asciiLowercased }

    /// The value of the first parameter with this name, ignoring case.
    public func parameter(_ name: String) -> String? {
        let name = name.asciiLowercased
        return parameters.first { $0.name == name }?.value
    }

    /// Parses all challenges of a message, in order.
    ///
    /// Takes linear time and memory and never throws: a malformed challenge is skipped, and parsing continues with the next. The content of
    /// a quoted string is never a challenge. Several field lines are one list (RFC 9110 section 5.3).
    ///
    /// - Parameter fieldValues: The values of the field lines, in order.
    public static func parse(_ fieldValues: [String]) -> [AuthenticationChallenge] {
        var challenges: [AuthenticationChallenge] = []
        var open: Open?
        for part in ChallengeParts(fieldValues) {
            switch part {
            case .scheme(let scheme):
                if let challenge = open?.challenge { challenges.append(challenge) }
                open = Open(scheme: String(decoding: scheme, as: UTF8.self))
            case .token68(let token): open?.token68 = String(decoding: token, as: UTF8.self)
            case .parameter(let name, let value): open?.add(name: name, value: value)
            case .fault: open?.isFaulty = true
            }
        }
        if let challenge = open?.challenge { challenges.append(challenge) }
        return challenges
    }
}

/// The challenge that is being parsed.
private struct Open {
    let scheme: String
    var token68: String?
    var isFaulty = false
    private var parameters: [AuthenticationChallenge.Parameter] = []

    init(scheme: String) { self.scheme = scheme }

    var challenge: AuthenticationChallenge? {
        isFaulty ? nil : AuthenticationChallenge(scheme: scheme, token68: token68, parameters: parameters)
    }

    mutating func add(name: some Collection<UInt8>, value: some Collection<UInt8>) {
        guard !isFaulty else { return }
        let text = value.first == UInt8(ascii: "\"") ? Open.unquoted(value) : String(decoding: value, as: UTF8.self)
        parameters.append(AuthenticationChallenge.Parameter(name: String(decoding: name, as: UTF8.self), value: text))
    }

    /// The text between the quotes, with escapes resolved (RFC 9110 section 5.6.4).
    private static func unquoted(_ value: some Collection<UInt8>) -> String {
        var text: [UInt8] = []
        text.reserveCapacity(value.count)
        var isEscaped = false
        for byte in value.dropFirst() {
            if !isEscaped, byte == UInt8(ascii: "\\") {
                isEscaped = true
            } else if !isEscaped, byte == UInt8(ascii: "\"") {
                break
            } else {
                text.append(byte)
                isEscaped = false
            }
        }
        return String(decoding: text, as: UTF8.self)
    }
}
