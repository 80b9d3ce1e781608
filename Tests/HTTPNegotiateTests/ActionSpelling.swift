import HTTPNegotiate

extension NegotiateExchange.Action {
    /// The action as the vectors spell it.
    var spelling: String {
        switch self {
        case .deliver(.unauthenticated): "deliver unauthenticated"
        case .deliver(.authenticated): "deliver authenticated"
        case .deliver(.refused): "deliver refused"
        case .begin: "begin"
        case .respond(let token): "respond " + Self.hexadecimal(token)
        case .verify(let token): "verify " + Self.hexadecimal(token)
        case .fail(let error): "fail \(error.code)"
        }
    }

    private static func hexadecimal(_ bytes: [UInt8]) -> String {
        bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    }
}
