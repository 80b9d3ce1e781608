internal import struct Foundation.Data

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
