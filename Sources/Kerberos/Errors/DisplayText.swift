extension String {
    /// The text with everything that a terminal would act on made visible, and cut where nobody would read on.
    ///
    /// A KDC's error text, a server's token and a cache's names come from others: an escape sequence or a line of its own in them could
    /// pass for a message of ours.
    ///
    /// - Parameters:
    ///   - keepingLines: Whether line breaks stay, in a text of several lines of our own.
    ///   - limit: How many characters are printed.
    package func escapedForDisplay(keepingLines: Bool = false, limit: Int = 2000) -> String {
        var result = ""
        for scalar in unicodeScalars.prefix(limit) {
            if keepingLines, scalar == "\n" {
                result.unicodeScalars.append(scalar)
            } else if scalar.isActedOnByTerminals {
                result += "\\u{\(String(scalar.value, radix: 16))}"
            } else {
                result.unicodeScalars.append(scalar)
            }
        }
        return unicodeScalars.count > limit ? result + "…" : result
    }

    /// A JSON document with the same characters escaped as JSON escapes them, so that a program that reads it gets the exact text.
    ///
    /// Line breaks stay: an encoder writes them between values, and escapes those in a text itself.
    package func escapedAsJSONForDisplay() -> String {
        var result = ""
        for scalar in unicodeScalars {
            if scalar != "\n", scalar.isActedOnByTerminals {
                let digits = String(scalar.value, radix: 16)
                result += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
            } else {
                result.unicodeScalars.append(scalar)
            }
        }
        return result
    }
}

extension Unicode.Scalar {
    /// Control characters, and the marks that change the direction of text.
    fileprivate var isActedOnByTerminals: Bool {
        switch value {
        case 0..<0x20, 0x7F..<0xA0, 0x061C, 0x200E, 0x200F, 0x2028...0x202E, 0x2066...0x2069: true
        default: false
        }
    }
}
