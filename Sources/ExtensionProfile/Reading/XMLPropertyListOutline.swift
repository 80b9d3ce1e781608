import Foundation

/// The nesting of an XML property list, found without a parser: Foundation's parser calls itself for each level, and a file of 100 KB can
/// have so many that it exhausts the stack.
struct XMLPropertyListOutline {
    private let bytes: [UInt8]
    /// The bytes for the parser, so that it reads what was checked: UTF-8 with a byte-order mark, which has precedence over the encoding
    /// that the file declares.
    var utf8: Data { Data([0xEF, 0xBB, 0xBF] + bytes) }

    /// The deepest element of a profile is a scalar in `plist`, or the key of a dictionary.
    private static let maximumDepth = ProfileValue.maximumDepth + 2

    /// - Returns: nil if the data is not text. At some bytes that are not UTF-8, Foundation's parser of numbers crashes.
    init?(_ data: Data) {
        let hasByteOrderMark = data.starts(with: [0xFE, 0xFF]) || data.starts(with: [0xFF, 0xFE])
        guard let text = String(data: data, encoding: hasByteOrderMark ? .utf16 : .utf8) else { return nil }
        bytes = Array(text.utf8.trimmingPrefix([0xEF, 0xBB, 0xBF]))
    }

    /// What is wrong with the file; nil if a parser meets no more levels than a profile has.
    ///
    /// Comments, CDATA sections, processing instructions and declarations end where Foundation's parser ends them, so that nothing in them
    /// counts as the end of an element.
    var fault: Fault? {
        guard bytes.first(where: { !" \t\r\n".utf8.contains($0) }) == UInt8(ascii: "<") else { return .notXML }
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
                // Within an element, the parser takes this question mark for that of the end, too.
                end = self.end(of: "?>", from: start + 1)
            } else {
                end = self.end(of: ">", from: start + 1)
                if rest.starts(with: "</".utf8) {
                    depth = max(0, depth - 1)
                } else if !rest.starts(with: "<!".utf8), let end, bytes[end - 2] != UInt8(ascii: "/") {
                    depth += 1
                }
            }
            guard depth <= Self.maximumDepth else { return .tooDeep }
            guard let end else { return .unfinished }
            position = end
        }
        return nil
    }

    /// Why a file must not be parsed.
    enum Fault {
        /// The text does not begin with a tag.
        case notXML
        /// The elements are nested too deeply.
        case tooDeep
        /// The file ends within a tag, a comment, a CDATA section, a processing instruction or a declaration.
        case unfinished
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
