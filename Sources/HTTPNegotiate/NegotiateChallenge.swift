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
    /// throws; takes time linear in the text, and no memory but the token's.
    ///
    /// - Parameter fieldValues: The values of the `WWW-Authenticate` lines, in their order.
    public static func find(in fieldValues: [String]) -> Result {
        var candidate: Candidate?
        for part in ChallengeParts(fieldValues) {
            switch part {
            case .scheme(let scheme):
                if let candidate { return candidate.result }
                if scheme.lazy.map(\.lowercased).elementsEqual("negotiate".utf8) { candidate = Candidate() }
            case .token68(let token): candidate?.token = token
            case .parameter: candidate?.hasParameters = true
            case .fault: candidate?.isFaulty = true
            }
        }
        return candidate?.result ?? .absent
    }
}

/// The Negotiate challenge that is being read.
private struct Candidate {
    var token: Substring.UTF8View?
    var hasParameters = false
    var isFaulty = false

    var result: NegotiateChallenge.Result {
        guard !isFaulty else { return .malformed("its Negotiate challenge breaks the grammar of RFC 9110") }
        guard !hasParameters else { return .malformed("its Negotiate challenge has parameters instead of a token") }
        guard let token else { return .found(NegotiateChallenge()) }
        let maximum = NegotiateChallenge.maximumTokenSize
        // Before anything is decoded, so that no field makes this allocate more than that.
        guard token.count <= (maximum + 2) / 3 * 4 else { return .malformed("its Negotiate token is over \(maximum) bytes") }
        guard let bytes = Base64.decode(token) else { return .malformed("its Negotiate token is not base64") }
        guard bytes.count <= maximum else { return .malformed("its Negotiate token is over \(maximum) bytes") }
        return .found(NegotiateChallenge(token: bytes))
    }
}
