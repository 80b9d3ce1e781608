/// A challenge of the scheme Negotiate (RFC 4559 section 4.1): bare, or with a token of the server.
public struct NegotiateChallenge: Sendable, Hashable {
    /// What a message's fields hold.
    public enum Result: Sendable, Hashable {
        /// No Negotiate.
        case absent
        /// The first Negotiate of the message.
        case found(NegotiateChallenge)
        /// A Negotiate that can't be read, and a clause that says why.
        case malformed(String)
    }

    /// The longest token that is read: 64 KiB, about what the widest of servers' header limits let through.
    public static let maximumTokenSize = 65536

    /// The server's token, decoded; nil when the challenge is bare.
    public let token: [UInt8]?

    /// Makes a challenge.
    public init(token: [UInt8]? = nil) { self.token = token }

    /// Looks for Negotiate among the challenges of a message.
    ///
    /// The token must be base64 as RFC 4648 section 4 has it, padding included, and no longer than ``maximumTokenSize`` bytes. Never
    /// throws; takes time linear in the text.
    ///
    /// - Parameter fieldValues: The values of the `WWW-Authenticate` lines, in their order.
    public static func find(in fieldValues: [String]) -> Result {
        for finding in ChallengeScanner.scan(fieldValues) {
            switch finding {
            case .challenge(let challenge) where challenge.hasScheme("Negotiate"): return read(challenge)
            case .malformed(let scheme) where scheme.asciiLowercased == "negotiate":
                return .malformed("its Negotiate challenge breaks the grammar of RFC 9110")
            default: continue
            }
        }
        return .absent
    }

    private static func read(_ challenge: AuthenticationChallenge) -> Result {
        guard challenge.parameters.isEmpty else { return .malformed("its Negotiate challenge has parameters instead of a token") }
        guard let text = challenge.token68 else { return .found(NegotiateChallenge()) }
        guard text.utf8.count <= (maximumTokenSize + 2) / 3 * 4 else {
            return .malformed("its Negotiate token is over \(maximumTokenSize) bytes")
        }
        guard let token = Base64.decode(text) else { return .malformed("its Negotiate token is not base64") }
        guard token.count <= maximumTokenSize else { return .malformed("its Negotiate token is over \(maximumTokenSize) bytes") }
        return .found(NegotiateChallenge(token: token))
    }
}
