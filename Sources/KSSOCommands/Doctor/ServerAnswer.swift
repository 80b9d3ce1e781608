internal import HTTPNegotiate

/// What a server says to a request without a ticket.
struct ServerAnswer {
    let status: Int
    let challenges: [String]
    let proxyChallenges: [String]
    let via: [String]

    /// How each token of NTLM begins ([MS-NLMP] section 2.2.1).
    private static let ntlm = Array("NTLMSSP\0".utf8)

    private var negotiate: NegotiateChallenge.Result { NegotiateChallenge.find(in: challenges) }

    /// Whether a ticket is asked for. A first challenge that carries a token already belongs to no exchange of ours.
    var isChallenge: Bool {
        guard status == 401, case .found(let challenge) = negotiate else { return false }
        return challenge.token == nil
    }

    func finding(of origin: String) -> Finding {
        let proxy = via.isEmpty ? "" : " The answer came by a proxy (Via: \(via.joined(separator: ", ")))."
        if status == 407 || !proxyChallenges.isEmpty {
            return .failed(
                "a proxy stands in between and wants a sign-in of its own: it answers \(status), and offers \(Self.schemes(proxyChallenges)).\(proxy)",
                remedy: "Let \(origin) go past the proxy (no_proxy), or sign in to the proxy. No ticket is sent to one."
            )
        }
        guard status == 401 else {
            return .warning(
                "\(origin) asks for no sign-in at this address: it answers \(status).\(proxy)",
                remedy: "Name a page that asks for one. A server that must not ask is as it should be."
            )
        }
        switch negotiate {
        case .found(let challenge) where challenge.token?.starts(with: Self.ntlm) == true:
            return .failed("\(origin) wants NTLM: its Negotiate token begins with NTLMSSP.\(proxy)", remedy: Self.serverRemedy)
        case .found(let challenge) where challenge.token != nil:
            let text = "\(origin)'s first Negotiate challenge carries a token, so no ticket can answer it.\(proxy)"
            return .failed(text, remedy: Self.serverRemedy)
        case .found:
            return via.isEmpty ? .ok("\(origin) asks for Negotiate.") : .warning("\(origin) asks for Negotiate.\(proxy)")
        case .malformed(let reason):
            return .failed("\(origin) asks for a sign-in that can't be read: \(reason).\(proxy)", remedy: Self.serverRemedy)
        case .absent:
            let offered = AuthenticationChallenge.parse(challenges)
            let wantsNTLM = offered.contains { $0.hasScheme("NTLM") }
            let text = wantsNTLM ? "wants NTLM, and does not offer Negotiate" : "does not offer Negotiate"
            return .failed("\(origin) \(text): it offers \(Self.schemes(challenges)).\(proxy)", remedy: Self.serverRemedy)
        }
    }

    private static let serverRemedy = "Have Kerberos (Negotiate) switched on in the server's settings; a server without it can't be helped."

    private static func schemes(_ fields: [String]) -> String {
        let schemes = AuthenticationChallenge.parse(fields).map { String($0.scheme.prefix(40)) }
        return schemes.isEmpty ? "nothing" : schemes.prefix(4).joined(separator: ", ")
    }
}
