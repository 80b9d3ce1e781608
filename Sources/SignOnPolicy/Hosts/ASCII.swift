/// The character classes of RFC 3986 and RFC 9110, for bytes.
extension UInt8 {
    package var isDigit: Bool { self >= UInt8(ascii: "0") && self <= UInt8(ascii: "9") }

    package var isLetter: Bool { (self | 0x20) >= UInt8(ascii: "a") && (self | 0x20) <= UInt8(ascii: "z") }

    package var isHexDigit: Bool { hexValue != nil }

    /// The value of a hexadecimal digit in either case.
    package var hexValue: UInt32? {
        switch self {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): UInt32(self - UInt8(ascii: "0"))
        case UInt8(ascii: "a")...UInt8(ascii: "f"): UInt32(self - UInt8(ascii: "a")) + 10
        case UInt8(ascii: "A")...UInt8(ascii: "F"): UInt32(self - UInt8(ascii: "A")) + 10
        default: nil
        }
    }

    /// The same letter in lower case; any other byte unchanged.
    package var lowercased: UInt8 { self >= UInt8(ascii: "A") && self <= UInt8(ascii: "Z") ? self | 0x20 : self }

    /// RFC 3986 section 2.3.
    package var isUnreserved: Bool {
        isLetter || isDigit || self == UInt8(ascii: "-") || self == UInt8(ascii: ".") || self == UInt8(ascii: "_")
            || self == UInt8(ascii: "~")
    }

    /// RFC 3986 section 2.2.
    package var isSubDelimiter: Bool {
        switch self {
        case UInt8(ascii: "!"), UInt8(ascii: "$"), UInt8(ascii: "&"), UInt8(ascii: "'"), UInt8(ascii: "("), UInt8(ascii: ")"),
            UInt8(ascii: "*"), UInt8(ascii: "+"), UInt8(ascii: ","), UInt8(ascii: ";"), UInt8(ascii: "="):
            true
        default: false
        }
    }

    /// Any character that RFC 3986 allows in a URI, including the percent sign.
    package var isURICharacter: Bool {
        if isUnreserved || isSubDelimiter { return true }
        switch self {
        case UInt8(ascii: ":"), UInt8(ascii: "/"), UInt8(ascii: "?"), UInt8(ascii: "#"), UInt8(ascii: "["), UInt8(ascii: "]"),
            UInt8(ascii: "@"), UInt8(ascii: "%"):
            return true
        default: return false
        }
    }

    /// RFC 9110 section 5.6.2: a character of a token.
    package var isTokenCharacter: Bool {
        if isLetter || isDigit { return true }
        switch self {
        case UInt8(ascii: "!"), UInt8(ascii: "#"), UInt8(ascii: "$"), UInt8(ascii: "%"), UInt8(ascii: "&"), UInt8(ascii: "'"),
            UInt8(ascii: "*"), UInt8(ascii: "+"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "^"), UInt8(ascii: "_"),
            UInt8(ascii: "`"), UInt8(ascii: "|"), UInt8(ascii: "~"):
            return true
        default: return false
        }
    }

    /// RFC 9110 section 11.2: a character of a token68, without the padding.
    package var isToken68Character: Bool {
        isUnreserved || self == UInt8(ascii: "+") || self == UInt8(ascii: "/")
    }
}

extension String {
    /// The text of a profile in quotation marks, for a message. Everything is as in the file, such as the apostrophe of `it's.test`, except
    /// that control characters, line breaks, and marks that no one sees are escaped.
    package var quoted: String {
        let escaped = unicodeScalars.map { scalar in
            switch scalar.properties.generalCategory {
            case .control, .format, .lineSeparator, .paragraphSeparator: "\\u{\(String(scalar.value, radix: 16))}"
            default: String(scalar)
            }
        }
        return "\"\(escaped.joined())\""
    }
}

extension StringProtocol {
    /// The text with its ASCII letters in lower case and everything else unchanged.
    package var asciiLowercased: String { String(decoding: utf8.map(\.lowercased), as: UTF8.self) }
}
