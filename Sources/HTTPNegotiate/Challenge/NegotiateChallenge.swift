public import HTTPTypes

internal import struct Foundation.Data

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

/// The answer to a Negotiate challenge (RFC 4559 section 4.2): what goes into the `Authorization` field.
public struct NegotiateCredentials: Sendable, Hashable {
    /// The initiator's token.
    public let token: [UInt8]

    /// Makes credentials from a token.
    public init(token: [UInt8]) { self.token = token }

    /// The field's value: `Negotiate` and the token in base64.
    public var fieldValue: String { "Negotiate " + Base64.encode(token) }

    /// The `Authorization` field alone, marked so that no HTTP/2 peer puts it into its compression table.
    public var headers: HTTPFields {
        var field = HTTPField(name: .authorization, value: fieldValue)
        field.indexingStrategy = .disallow
        return HTTPFields([field])
    }
}

extension NegotiateCredentials: CustomStringConvertible, CustomReflectable {
    /// The token's length, never the token.
    public var description: String { "Negotiate, \(token.count) bytes" }
    /// Never the token.
    public var customMirror: Mirror { Mirror(self, children: []) }
}

/// Base64 exactly as RFC 4648 section 4 has it: no line breaks, no other alphabet, padding required, unused bits zero.
///
/// Lenient decoders let one token be spelt in many ways; a challenge is read in one way or not at all.
enum Base64 {
    private static let padding = UInt8(ascii: "=")

    static func encode(_ bytes: [UInt8]) -> String { Data(bytes).base64EncodedString() }

    /// The bytes, or nil for anything that ``encode(_:)`` would not have written. Nothing at all is nil as well.
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
        // The padding stands for bytes that must be zero, with the unused bits before them.
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
