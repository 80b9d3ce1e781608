/// The text of a PAC file, in the form that the JavaScript engine reads.
struct PACScript: Sendable, Hashable {
    /// The greatest size of a PAC file, in bytes.
    static let limit = 1 << 20

    /// Why bytes are not a PAC file.
    struct Problem: Error {
        /// A clause to follow "the PAC file".
        let clause: String
    }

    /// The script in ASCII, in which other characters are written as JavaScript escapes.
    ///
    /// Because the engine reads each byte as a character of Latin-1, a script in UTF-8 would have other texts than its author wrote.
    let text: String

    /// Decodes a PAC file: UTF-16 or UTF-8 with a byte order mark, else UTF-8, else Latin-1.
    init(_ bytes: [UInt8]) throws(Problem) {
        guard bytes.count <= Self.limit else { throw Problem(clause: "is larger than 1 MiB") }
        let decoded = Self.decode(bytes)
        guard decoded.contains(where: { !$0.isWhitespace }) else { throw Problem(clause: "is empty") }
        // The engine takes the text as a C string, which would end there.
        guard !decoded.utf8.contains(0) else { throw Problem(clause: "contains a NUL character") }
        text = Self.escape(decoded)
    }

    private static func decode(_ bytes: [UInt8]) -> String {
        if bytes.starts(with: [0xFF, 0xFE]) { return utf16(bytes.dropFirst(2)) { UInt16($0) | UInt16($1) << 8 } }
        if bytes.starts(with: [0xFE, 0xFF]) { return utf16(bytes.dropFirst(2)) { UInt16($0) << 8 | UInt16($1) } }
        if bytes.starts(with: [0xEF, 0xBB, 0xBF]) { return String(decoding: bytes.dropFirst(3), as: UTF8.self) }
        if let text = String(validating: bytes, as: UTF8.self) { return text }
        return String(String.UnicodeScalarView(bytes.map { Unicode.Scalar($0) }))
    }

    private static func utf16(_ bytes: ArraySlice<UInt8>, unit: (UInt8, UInt8) -> UInt16) -> String {
        let units = stride(from: bytes.startIndex, to: bytes.endIndex - 1, by: 2).map { unit(bytes[$0], bytes[$0 + 1]) }
        return String(decoding: units, as: UTF16.self)
    }

    private static func escape(_ text: String) -> String {
        guard text.utf8.contains(where: { $0 >= 0x80 }) else { return text }
        var result = ""
        for scalar in text.unicodeScalars {
            switch scalar.value {
            case 0..<0x80: result.unicodeScalars.append(scalar)
            // White space between tokens, where an escape would be an error.
            case 0xA0, 0x3000, 0xFEFF, 0x2000...0x200A: result += " "
            case 0x2028, 0x2029: result += "\n"
            default:
                for unit in UTF16.encode(scalar) ?? .init() {
                    let digits = String(unit, radix: 16)
                    result += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
                }
            }
        }
        return result
    }
}
