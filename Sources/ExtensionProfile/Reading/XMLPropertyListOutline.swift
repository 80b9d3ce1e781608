import Foundation

/// The nesting of an XML property list, found without a parser: Foundation's parser calls itself for each level, and a file of 100 KB can
/// have so many that it exhausts the stack.
struct XMLPropertyListOutline {
    private let bytes: [UInt8]

    /// The deepest element of a profile is a scalar in `plist`, or the key of a dictionary.
    private static let maximumDepth = ProfileValue.maximumDepth + 2

    /// - Returns: nil if the data is not text. In a number, Foundation's parser ends the program at bytes that are not UTF-8.
    init?(_ data: Data) {
        let hasByteOrderMark = data.starts(with: [0xFE, 0xFF]) || data.starts(with: [0xFF, 0xFE])
        guard let text = String(data: data, encoding: hasByteOrderMark ? .utf16 : .utf8) else { return nil }
        bytes = Array(text.utf8)
    }

    /// Whether a parser meets no more levels than a profile has.
    ///
    /// Comments, CDATA sections, processing instructions and declarations end where Foundation's parser ends them, so that nothing in them
    /// counts as the end of an element.
    var isModest: Bool {
        var depth = 0
        var position = 0
        while let start = bytes[position...].firstIndex(of: UInt8(ascii: "<")) {
            let rest = bytes[start...]
            let end: Int?
            if rest.starts(with: "<!--".utf8) {
                end = self.end(of: "-->", from: start + 4)
            } else if rest.starts(with: "<![CDATA[".utf8) {
                end = self.end(of: "]]>", from: start + 9)
            } else if rest.starts(with: "<?".utf8) {
                end = self.end(of: "?>", from: start + 2)
            } else {
                end = self.end(of: ">", from: start + 1)
                if rest.starts(with: "</".utf8) {
                    depth = max(0, depth - 1)
                } else if !rest.starts(with: "<!".utf8), let end, bytes[end - 2] != UInt8(ascii: "/") {
                    depth += 1
                }
            }
            guard depth <= Self.maximumDepth else { return false }
            // A file that ends within a tag is refused by the parser.
            guard let end else { return true }
            position = end
        }
        return true
    }

    /// The index after the next occurrence of a text.
    private func end(of text: StaticString, from start: Int) -> Int? {
        let text = Array(text.description.utf8)
        guard start <= bytes.count, text.count <= bytes.count - start else { return nil }
        for index in start...bytes.count - text.count where bytes[index] == text[0] && bytes[index...].starts(with: text) {
            return index + text.count
        }
        return nil
    }
}
