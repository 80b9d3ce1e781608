/// Parses heads strictly (RFC 9112): what this proxy and another recipient could read differently is refused, never repaired.
///
/// Refused are bare CR and LF, folded lines, whitespace before a colon, and control characters.
package enum HeadParser {
    /// More fields than any client or server sends.
    package static let maximumFields = 256

    /// Finds the end of a head: the number of bytes up to and including its empty line; nil if it is incomplete.
    ///
    /// - Parameters:
    ///   - bytes: The received bytes from the start of the head.
    ///   - searched: The number of bytes that an earlier call has searched.
    package static func length(
        of bytes: some RandomAccessCollection<UInt8>,
        searched: Int = 0
    ) throws(MessageProblem) -> Int? {
        var index = bytes.index(bytes.startIndex, offsetBy: max(0, min(searched, bytes.count) - 3))
        while let newline = bytes[index...].firstIndex(of: lineFeed) {
            let offset = bytes.distance(from: bytes.startIndex, to: newline)
            guard offset > 0, bytes[bytes.index(before: newline)] == carriageReturn else {
                throw MessageProblem("a line does not end with CR LF")
            }
            if offset == 1 { return 2 }
            if offset >= 3, bytes[bytes.index(newline, offsetBy: -2)] == lineFeed { return offset + 1 }
            index = bytes.index(after: newline)
        }
        return nil
    }

    /// Parses the head of a request, with its empty line.
    package static func request(_ bytes: [UInt8]) throws(MessageProblem) -> RequestHead {
        let lines = try lines(of: bytes)
        let words = lines[0].split(separator: space, omittingEmptySubsequences: false)
        guard words.count == 3, !words[0].isEmpty, words[0].allSatisfy(\.isTokenByte) else {
            throw MessageProblem("its first line is not METHOD TARGET HTTP/1.1")
        }
        guard !words[1].isEmpty, words[1].allSatisfy({ 0x21...0x7E ~= $0 }) else {
            throw MessageProblem("its target contains a character that is not allowed in a URL")
        }
        let minorVersion = try minorVersion(of: words[2])
        return RequestHead(
            method: String(decoding: words[0], as: UTF8.self),
            target: String(decoding: words[1], as: UTF8.self),
            minorVersion: minorVersion,
            fields: try fields(lines.dropFirst())
        )
    }

    /// Parses the head of a response, with its empty line.
    package static func response(_ bytes: [UInt8]) throws(MessageProblem) -> ResponseHead {
        let lines = try lines(of: bytes)
        let words = lines[0].split(separator: space, maxSplits: 2, omittingEmptySubsequences: false)
        guard words.count >= 2, words[1].count == 3, words[1].allSatisfy(\.isDigitByte),
            let status = Int(String(decoding: words[1], as: UTF8.self)), 100..<600 ~= status
        else { throw MessageProblem("its first line is not HTTP/1.1 STATUS REASON") }
        let minorVersion = try minorVersion(of: words[0])
        let reason = words.count > 2 ? words[2] : []
        guard reason.allSatisfy(\.isValueByte) else { throw MessageProblem("its reason contains a control character") }
        return ResponseHead(
            status: status,
            // The reason has no meaning for recipients; what is not ASCII is not forwarded.
            reason: String(decoding: reason.filter { $0 < 0x80 }, as: UTF8.self),
            minorVersion: minorVersion,
            fields: try fields(lines.dropFirst())
        )
    }

    /// Parses field lines.
    package static func fields(_ lines: some Sequence<ArraySlice<UInt8>>) throws(MessageProblem) -> HeadFields {
        var fields = HeadFields()
        var count = 0
        for line in lines {
            count += 1
            guard count <= maximumFields else {
                throw MessageProblem("it has more than \(maximumFields) fields", status: 431)
            }
            fields.add(try field(line))
        }
        return fields
    }

    private static func field(_ line: ArraySlice<UInt8>) throws(MessageProblem) -> HeadFields.Field {
        if let first = line.first, first.isBlankByte { throw MessageProblem("a field is folded over several lines") }
        guard let colon = line.firstIndex(of: UInt8(ascii: ":")) else { throw MessageProblem("a field has no colon") }
        let name = line[..<colon]
        if let last = name.last, last.isBlankByte { throw MessageProblem("a field has whitespace before its colon") }
        guard !name.isEmpty, name.allSatisfy(\.isTokenByte) else { throw MessageProblem("the name of a field is invalid") }
        var value = line[(colon + 1)...]
        while let first = value.first, first.isBlankByte { value = value.dropFirst() }
        while let last = value.last, last.isBlankByte { value = value.dropLast() }
        guard value.allSatisfy(\.isValueByte) else { throw MessageProblem("a field contains a control character") }
        return HeadFields.Field(String(decoding: name, as: UTF8.self), Array(value))
    }

    /// The lines of a head without their ends, of which there is at least one.
    static func lines(of bytes: [UInt8]) throws(MessageProblem) -> [ArraySlice<UInt8>] {
        guard bytes.count > 4, bytes.suffix(4) == [carriageReturn, lineFeed, carriageReturn, lineFeed] else {
            throw MessageProblem("it is incomplete")
        }
        var lines: [ArraySlice<UInt8>] = []
        var start = bytes.startIndex
        let end = bytes.count - 2
        while start < end {
            guard let newline = bytes[start..<end].firstIndex(of: lineFeed), newline > start, bytes[newline - 1] == carriageReturn else {
                throw MessageProblem("a line does not end with CR LF")
            }
            let line = bytes[start..<(newline - 1)]
            guard !line.isEmpty else { throw MessageProblem("it begins with an empty line") }
            guard !line.contains(carriageReturn) else { throw MessageProblem("it contains a CR without LF") }
            lines.append(line)
            start = newline + 1
        }
        return lines
    }

    private static func minorVersion(of word: ArraySlice<UInt8>) throws(MessageProblem) -> Int {
        switch String(decoding: word, as: UTF8.self) {
        case "HTTP/1.1": return 1
        case "HTTP/1.0": return 0
        case let text:
            guard text.hasPrefix("HTTP/") else { throw MessageProblem("its first line does not name HTTP/1.1") }
            throw MessageProblem("its version is neither HTTP/1.1 nor HTTP/1.0", status: 505)
        }
    }

    static let carriageReturn = UInt8(ascii: "\r")
    static let lineFeed = UInt8(ascii: "\n")
    private static let space = UInt8(ascii: " ")
}

extension UInt8 {
    var isDigitByte: Bool { UInt8(ascii: "0")...UInt8(ascii: "9") ~= self }
    var isBlankByte: Bool { self == 0x20 || self == 0x09 }

    /// A character of a field value: visible, a space or a tab, or outside ASCII (RFC 9110 section 5.5).
    var isValueByte: Bool { self == 0x09 || self >= 0x20 && self != 0x7F }

    /// A character of a token (RFC 9110 section 5.6.2).
    var isTokenByte: Bool {
        switch self {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "0")...UInt8(ascii: "9"): true
        default: Self.tokenMarks.contains(self)
        }
    }

    private static let tokenMarks = Set("!#$%&'*+-.^_`|~".utf8)
}
