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
    /// Takes time and memory linear in the text and never throws: a challenge that breaks the grammar is left out, and reading goes on at
    /// the next. What stands inside a quoted string is never a challenge. Several lines are one list (RFC 9110 section 5.3).
    ///
    /// - Parameter fieldValues: The values of the field's lines, in their order.
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

/// The challenge that is being read.
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

    /// The text between the quotes, escapes resolved (RFC 9110 section 5.6.4).
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
