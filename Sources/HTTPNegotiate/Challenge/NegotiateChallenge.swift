public import HTTPTypes
package import SignOnPolicy

internal import struct Foundation.Data

/// A Negotiate challenge (RFC 4559 section 4.1), with or without a token from the server.
public struct NegotiateChallenge: Sendable, Hashable {
    /// The result of a search for Negotiate in a message.
    public enum Result: Sendable, Hashable {
        /// No Negotiate challenge.
        case absent
        /// The first Negotiate challenge of the message.
        case found(NegotiateChallenge)
        /// An invalid Negotiate challenge, and a clause that says why.
        case malformed(String)
    }

    /// The longest token that is accepted: 64 KiB, about the largest header limit that servers allow.
    public static let maximumTokenSize = 65536

    /// The decoded token; nil if the challenge has none.
    public let token: [UInt8]?

    /// Creates a challenge.
    public init(token: [UInt8]? = nil) { self.token = token }

    /// Finds the first Negotiate challenge of a message.
    ///
    /// The token must be base64 (RFC 4648 section 4) with padding, and at most ``maximumTokenSize`` bytes long. Never throws; takes linear
    /// time, and memory only for the token.
    ///
    /// - Parameter fieldValues: The values of the `WWW-Authenticate` lines, in order.
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

/// The Negotiate challenge that is being parsed.
private struct Candidate {
    var token: Substring.UTF8View?
    var hasParameters = false
    var isFaulty = false

    var result: NegotiateChallenge.Result {
        guard !isFaulty else { return .malformed("its Negotiate challenge is malformed (RFC 9110)") }
        guard !hasParameters else { return .malformed("its Negotiate challenge has parameters instead of a token") }
        guard let token else { return .found(NegotiateChallenge()) }
        let maximum = NegotiateChallenge.maximumTokenSize
        // Checked before decoding, so that no field makes this allocate more.
        guard token.count <= (maximum + 2) / 3 * 4 else { return .malformed("its Negotiate token is over \(maximum) bytes") }
        guard let bytes = Base64.decode(token) else { return .malformed("its Negotiate token is not base64") }
        guard bytes.count <= maximum else { return .malformed("its Negotiate token is over \(maximum) bytes") }
        return .found(NegotiateChallenge(token: bytes))
    }
}

/// The response to a Negotiate challenge (RFC 4559 section 4.2): the value of the `Authorization` or `Proxy-Authorization` field.
public struct NegotiateCredentials: Sendable, Hashable {
    /// The initiator's token.
    public let token: [UInt8]

    /// Creates credentials from a token.
    public init(token: [UInt8]) { self.token = token }

    /// The field value: `Negotiate` and the token in base64.
    public var fieldValue: String { "Negotiate " + Base64.encode(token) }

    /// The `Authorization` field, marked so that HTTP/2 peers do not add it to their compression tables.
    public var headers: HTTPFields { headers(for: .origin) }

    /// The `Authorization` field for an origin server or the `Proxy-Authorization` field for a proxy, marked so that HTTP/2 peers do not
    /// add it to their compression tables.
    public func headers(for challenger: Challenger) -> HTTPFields {
        var field = HTTPField(name: challenger.credentialsField, value: fieldValue)
        field.indexingStrategy = .disallow
        return HTTPFields([field])
    }
}

extension NegotiateCredentials: CustomStringConvertible, CustomReflectable {
    /// The token's length, never the token.
    public var description: String { "Negotiate, \(token.count) \(token.count == 1 ? "byte" : "bytes")" }
    /// An empty mirror, never the token.
    public var customMirror: Mirror { Mirror(self, children: []) }
}

/// Strict base64 (RFC 4648 section 4): no line breaks, no other alphabet, padding required, unused bits zero.
///
/// Lenient decoders accept several spellings of one token; here each token has exactly one.
enum Base64 {
    private static let padding = UInt8(ascii: "=")

    static func encode(_ bytes: [UInt8]) -> String { Data(bytes).base64EncodedString() }

    /// The decoded bytes; nil for empty text and for anything that ``encode(_:)`` would not write.
    static func decode(_ text: some Collection<UInt8>) -> [UInt8]? {
        let count = text.count
        guard count > 0, count % 4 == 0 else { return nil }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(count / 4 * 3)
        var bits: UInt32 = 0
        var surplus = 0
        for (index, character) in text.enumerated() {
            if character == padding {
                surplus += 1
                bits <<= 6
            } else {
                guard surplus == 0, let value = value(of: character) else { return nil }
                bits = bits << 6 | value
            }
            guard index % 4 == 3 else { continue }
            bytes.append(UInt8(truncatingIfNeeded: bits >> 16))
            bytes.append(UInt8(truncatingIfNeeded: bits >> 8))
            bytes.append(UInt8(truncatingIfNeeded: bits))
            bits = 0
        }
        // The padding stands for zero bytes, and the unused bits before them must be zero too.
        guard surplus <= 2, bytes.suffix(surplus).allSatisfy({ $0 == 0 }) else { return nil }
        bytes.removeLast(surplus)
        return bytes
    }

    private static func value(of character: UInt8) -> UInt32? {
        switch character {
        case UInt8(ascii: "A")...UInt8(ascii: "Z"): UInt32(character - UInt8(ascii: "A"))
        case UInt8(ascii: "a")...UInt8(ascii: "z"): UInt32(character - UInt8(ascii: "a")) + 26
        case UInt8(ascii: "0")...UInt8(ascii: "9"): UInt32(character - UInt8(ascii: "0")) + 52
        case UInt8(ascii: "+"): 62
        case UInt8(ascii: "/"): 63
        default: nil
        }
    }
}

extension Challenger {
    /// The status of a response that asks for a ticket.
    package var status: Int { self == .origin ? 401 : 407 }

    /// The response field with the challenges.
    package var challengeField: HTTPField.Name { self == .origin ? .wwwAuthenticate : .proxyAuthenticate }

    /// The request field with the ticket.
    package var credentialsField: HTTPField.Name { self == .origin ? .authorization : .proxyAuthorization }
}
