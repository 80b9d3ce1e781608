package import struct Foundation.Date
package import struct Foundation.TimeZone

extension String {
    /// The text with terminal control characters escaped, truncated to a readable length.
    ///
    /// A KDC's error text, a server's token and a cache's names are untrusted: an escape sequence or a line break in them could imitate a
    /// message of this program.
    ///
    /// - Parameters:
    ///   - keepingLines: Whether to keep line breaks, for a text of several lines that the program wrote itself.
    ///   - limit: The maximum number of Unicode scalars.
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

    /// The JSON document with terminal control characters escaped as JSON escapes, so that its readers get the exact text.
    ///
    /// Line breaks are kept: an encoder writes them only between values, and escapes those in strings.
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
    /// Whether a terminal interprets the character: control characters, and marks that change the direction of text.
    fileprivate var isActedOnByTerminals: Bool {
        switch value {
        case 0..<0x20, 0x7F..<0xA0, 0x061C, 0x200E, 0x200F, 0x2028...0x202E, 0x2066...0x2069: true
        default: false
        }
    }
}

extension Date {
    /// The date for messages: local time with its offset from UTC, such as `2030-01-31 12:00:00 +0100`. JSON uses ISO 8601 instead.
    package var localText: String { localText(in: .current) }

    /// The date for messages in another time zone.
    package func localText(in zone: TimeZone) -> String {
        let style = Date.ISO8601FormatStyle(dateTimeSeparator: .space, timeZone: zone)
        let minutes = zone.secondsFromGMT(for: self) / 60
        let offset = String(abs(minutes) / 60 * 100 + abs(minutes) % 60)
        let digits = String(repeating: "0", count: max(0, 4 - offset.count)) + offset
        return style.year().month().day().time(includingFractionalSeconds: false).format(self) + (minutes < 0 ? " -" : " +") + digits
    }
}

/// A word of a command line to print: quoted for a POSIX shell if that is necessary.
package func shellWord(_ text: String) -> String {
    let isPlain = text.unicodeScalars.allSatisfy {
        $0.isASCII && ($0.properties.isAlphabetic || "0123456789/._+-".unicodeScalars.contains($0))
    }
    return isPlain && !text.isEmpty ? text : shellQuoted(text)
}

/// Quotes a word for a POSIX shell.
package func shellQuoted(_ text: String) -> String {
    "'" + text.replacing("'", with: "'\\''") + "'"
}
