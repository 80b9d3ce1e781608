/// Base64 exactly as RFC 4648 section 4 has it: no line breaks, no other alphabet, padding required, unused bits zero.
///
/// Lenient decoders let one token be spelt in many ways; a challenge is read in one way or not at all.
enum Base64 {
    private static let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)
    private static let padding = UInt8(ascii: "=")

    static func encode(_ bytes: [UInt8]) -> String {
        var text: [UInt8] = []
        text.reserveCapacity((bytes.count + 2) / 3 * 4)
        for start in stride(from: 0, to: bytes.count, by: 3) {
            let group = bytes[start..<min(start + 3, bytes.count)]
            var bits: UInt32 = 0
            for byte in group { bits = bits << 8 | UInt32(byte) }
            bits <<= 8 * UInt32(3 - group.count)
            for place in 0..<4 {
                text.append(place <= group.count ? alphabet[Int(bits >> (18 - 6 * UInt32(place)) & 0x3F)] : padding)
            }
        }
        return String(decoding: text, as: UTF8.self)
    }

    /// The bytes, or nil for anything that ``encode(_:)`` would not have written. Nothing at all is nil as well.
    static func decode(_ text: String) -> [UInt8]? {
        let characters = Array(text.utf8)
        guard !characters.isEmpty, characters.count % 4 == 0 else { return nil }
        let surplus = characters.suffix(2).reversed().prefix { $0 == padding }.count
        var bytes: [UInt8] = []
        bytes.reserveCapacity(characters.count / 4 * 3)
        var bits: UInt32 = 0
        for (index, character) in characters.dropLast(surplus).enumerated() {
            guard let value = value(of: character) else { return nil }
            bits = bits << 6 | value
            if index % 4 == 3 {
                bytes += [UInt8(bits >> 16), UInt8(bits >> 8 & 0xFF), UInt8(bits & 0xFF)]
                bits = 0
            }
        }
        switch surplus {
        case 1:
            guard bits & 0x3 == 0 else { return nil }
            bytes += [UInt8(bits >> 10), UInt8(bits >> 2 & 0xFF)]
        case 2:
            guard bits & 0xF == 0 else { return nil }
            bytes.append(UInt8(bits >> 4))
        default: break
        }
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
