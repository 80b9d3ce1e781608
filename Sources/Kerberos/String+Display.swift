extension String {
    /// The text with everything that a terminal would act on made visible, and cut where nobody would read on.
    ///
    /// A KDC's error text, a server's token and a cache's names come from others: an escape sequence or a line of its own in them could
    /// pass for a message of ours.
    ///
    /// - Parameter keepingLines: whether line breaks stay.
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
}

extension Unicode.Scalar {
    /// Control characters, and the marks that change the direction of text.
    fileprivate var isActedOnByTerminals: Bool {
        switch value {
        case 0..<0x20, 0x7F..<0xA0, 0x200E, 0x200F, 0x2028...0x202E, 0x2066...0x2069: true
        default: false
        }
    }
}
