/// What a server's NegTokenResp (RFC 4178 section 4.2.2) says: its state, and whether it carries a token of the mechanism.
///
/// libgssapi reports a reject, and an acceptance without proof, as a defective token; they are what the server decided.
struct NegotiationResponse: Equatable {
    /// The `negState` values that end a negotiation.
    enum State: UInt8 {
        case acceptCompleted = 0
        case reject = 2
    }

    let state: State
    /// Whether a token of Kerberos comes along: an AP-REP, or the server's error.
    let hasMechanismToken: Bool

    private static let response: UInt8 = 0xA1
    private static let sequence: UInt8 = 0x30
    private static let stateField: UInt8 = 0xA0
    private static let mechanismField: UInt8 = 0xA1
    private static let mechanismTokenField: UInt8 = 0xA2
    private static let enumerated: UInt8 = 0x0A
    /// Kerberos (RFC 4121 section 1), and the identifier that Windows has for it, as elements.
    private static let mechanisms: [[UInt8]] = [
        [0x06, 0x09, 0x2A, 0x86, 0x48, 0x86, 0xF7, 0x12, 0x01, 0x02, 0x02],
        [0x06, 0x09, 0x2A, 0x86, 0x48, 0x82, 0xF7, 0x12, 0x01, 0x02, 0x02],
    ]

    /// Nil for any other state or mechanism, and for bytes that are no NegTokenResp: libgssapi decides about these.
    init?(_ token: [UInt8]) {
        var whole = token[...]
        guard var response = Self.content(of: Self.response, in: &whole), whole.isEmpty,
            var fields = Self.content(of: Self.sequence, in: &response), response.isEmpty
        else { return nil }
        guard var stateField = Self.content(of: Self.stateField, in: &fields),
            let value = Self.content(of: Self.enumerated, in: &stateField), stateField.isEmpty,
            value.count == 1, let state = value.first.flatMap({ State(rawValue: $0) })
        else { return nil }
        var hasMechanismToken = false
        while let tag = fields.first {
            guard let content = Self.content(of: tag, in: &fields) else { return nil }
            if tag == Self.mechanismField, !Self.mechanisms.contains(Array(content)) { return nil }
            if tag == Self.mechanismTokenField { hasMechanismToken = true }
        }
        self.state = state
        self.hasMechanismToken = hasMechanismToken
    }

    /// Takes one element with a definite length (X.690 section 8.1) off the front.
    private static func content(of tag: UInt8, in bytes: inout ArraySlice<UInt8>) -> ArraySlice<UInt8>? {
        guard bytes.popFirst() == tag, let first = bytes.popFirst() else { return nil }
        var length = Int(first)
        if first >= 0x80 {
            let count = Int(first & 0x7F)
            guard 1...4 ~= count, bytes.count >= count else { return nil }
            length = bytes.prefix(count).reduce(0) { $0 << 8 | Int($1) }
            bytes.removeFirst(count)
        }
        guard bytes.count >= length else { return nil }
        defer { bytes.removeFirst(length) }
        return bytes.prefix(length)
    }
}
