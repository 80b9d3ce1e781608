/// Splits a field line (RFC 9110 section 11.6.1) into the parts of its challenges, in linear time and without storage of its own.
///
/// The field is a list of `challenge = auth-scheme [ 1*SP ( token68 / #auth-param ) ]`. Commas separate challenges as well as parameters,
/// so the first token of a list element decides: `token =` continues the previous challenge, `token` alone or `token SP something` begins a
/// new one.
struct ChallengeScanner<Bytes: Collection> where Bytes.Element == UInt8 {
    /// A part of a challenge, as written in the line.
    enum Part {
        /// A challenge begins.
        case scheme(Bytes.SubSequence)
        /// The token of the current challenge.
        case token68(Bytes.SubSequence)
        /// A parameter of the current challenge; a quoted value still has its quotes and escapes.
        case parameter(name: Bytes.SubSequence, value: Bytes.SubSequence)
        /// A syntax error in the current challenge.
        case fault
    }

    private var bytes: Bytes
    private var position: Bytes.Index
    /// Whether the current challenge may have parameters: its scheme is followed by a space, and it has no token68.
    private var takesParameters = false
    /// Whether the position is right after a scheme that is followed by content.
    private var isBeforeContent = false

    init(_ bytes: Bytes) {
        self.bytes = bytes
        position = bytes.startIndex
    }

    /// Continues with the next line of the same field. The lines are one list (RFC 9110 section 5.3), so parameters may continue in it, but
    /// a quoted string may not.
    mutating func take(_ line: Bytes) {
        bytes = line
        position = line.startIndex
    }

    /// Returns the next part, or nil at the end of the line.
    mutating func next() -> Part? {
        if isBeforeContent { return readContent() }
        while true {
            skip { $0.isBlank || $0 == UInt8(ascii: ",") }
            if position == bytes.endIndex { return nil }
            if let part = readElement() { return part }
        }
    }

    /// Reads a scheme or a parameter; nil for anything else that belongs to no challenge.
    private mutating func readElement() -> Part? {
        let start = position
        guard let token = readToken() else { return skipStray() }
        let end = position
        let isBeforeSpace = current == UInt8(ascii: " ")
        let hasBlank = skip { $0.isBlank }
        switch current {
        case nil, UInt8(ascii: ","):
            takesParameters = isBeforeSpace
            return .scheme(token)
        case UInt8(ascii: "=") where takesParameters:
            position = start
            return readParameter()
        default:
            guard hasBlank else { return skipStray() }
            position = end
            isBeforeContent = true
            return .scheme(token)
        }
    }

    /// Reads what follows a scheme: a token68, or the first parameter.
    private mutating func readContent() -> Part {
        isBeforeContent = false
        // A tab is not allowed here, so it makes the challenge invalid.
        skip { $0 == UInt8(ascii: " ") }
        let start = position
        let hasCharacters = skip { $0.isToken68Character }
        skip { $0 == UInt8(ascii: "=") }
        let end = position
        takesParameters = !(hasCharacters && skipToComma())
        guard takesParameters else { return .token68(bytes[start..<end]) }
        position = start
        return readParameter()
    }

    /// `token BWS "=" BWS ( token / quoted-string )`
    private mutating func readParameter() -> Part {
        guard let name = readToken() else { return skipFault() }
        skip { $0.isBlank }
        guard current == UInt8(ascii: "=") else { return skipFault() }
        advance()
        skip { $0.isBlank }
        let value = current == UInt8(ascii: "\"") ? readQuotedString() : readToken()
        guard let value, skipToComma() else { return skipFault() }
        return .parameter(name: name, value: value)
    }

    /// Skips an element that is neither a scheme nor a parameter: a syntax error if a parameter was allowed.
    private mutating func skipStray() -> Part? {
        skipElement()
        return takesParameters ? .fault : nil
    }

    private mutating func skipFault() -> Part {
        skipElement()
        return .fault
    }
}

// MARK: - Bytes

extension ChallengeScanner {
    private var current: UInt8? { position < bytes.endIndex ? bytes[position] : nil }

    private mutating func advance() { bytes.formIndex(after: &position) }

    /// Returns whether anything was skipped.
    @discardableResult private mutating func skip(while isWanted: (UInt8) -> Bool) -> Bool {
        let start = position
        while let byte = current, isWanted(byte) { advance() }
        return position > start
    }

    /// Skips white space, and returns whether the element ends there.
    private mutating func skipToComma() -> Bool {
        skip { $0.isBlank }
        return current == nil || current == UInt8(ascii: ",")
    }

    /// Skips to the next comma that is not in a quoted string. An unterminated quoted string extends to the end of the line.
    private mutating func skipElement() {
        while let byte = current, byte != UInt8(ascii: ",") {
            if byte == UInt8(ascii: "\"") { skipQuotedString() } else { advance() }
        }
    }

    private mutating func readToken() -> Bytes.SubSequence? {
        let start = position
        return skip { $0.isTokenCharacter } ? bytes[start..<position] : nil
    }

    private mutating func readQuotedString() -> Bytes.SubSequence? {
        let start = position
        return skipQuotedString() ? bytes[start..<position] : nil
    }

    /// Skips a quoted string, and returns whether it is valid (RFC 9110 section 5.6.4).
    @discardableResult private mutating func skipQuotedString() -> Bool {
        var isValid = true
        advance()
        while var byte = current {
            advance()
            if byte == UInt8(ascii: "\"") { return isValid }
            if byte == UInt8(ascii: "\\") {
                guard let escaped = current else { return false }
                byte = escaped
                advance()
            }
            if !byte.isQuotable { isValid = false }
        }
        return false
    }
}

extension UInt8 {
    /// White space within a line (RFC 9110 section 5.6.3).
    fileprivate var isBlank: Bool { self == UInt8(ascii: " ") || self == UInt8(ascii: "\t") }

    /// Whether the character may occur in a quoted string, possibly after a backslash.
    fileprivate var isQuotable: Bool { self >= 0x20 && self != 0x7F || self == UInt8(ascii: "\t") }
}

/// The parts of all challenges in a message: its field lines read as one list (RFC 9110 section 5.3).
struct ChallengeParts: Sequence, IteratorProtocol {
    private var lines: ArraySlice<String>
    private var scanner = ChallengeScanner("".utf8)

    /// - Parameter fieldValues: The values of the field lines, in order.
    init(_ fieldValues: [String]) { lines = fieldValues[...] }

    mutating func next() -> ChallengeScanner<String.UTF8View>.Part? {
        while true {
            if let part = scanner.next() { return part }
            guard let line = lines.popFirst() else { return nil }
            scanner.take(ChallengeParts.unfolded(line).utf8)
        }
    }

    /// The line with spaces in place of obsolete folds (RFC 9112 section 5.2), other line breaks and NULs (RFC 9110 section 5.5).
    ///
    /// Few lines contain any, so usually nothing is copied.
    private static func unfolded(_ line: String) -> String {
        guard line.utf8.contains(where: \.isBreak) else { return line }
        var bytes = Array(line.utf8)
        var start = 0
        while start < bytes.count {
            let end = bytes[start...].firstIndex { !$0.isBreak && $0 != UInt8(ascii: " ") && $0 != UInt8(ascii: "\t") } ?? bytes.count
            // A fold is a line break and all white space around it, including tabs.
            if bytes[start..<end].contains(where: \.isBreak) {
                for index in start..<end { bytes[index] = UInt8(ascii: " ") }
            }
            start = end + 1
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}

extension UInt8 {
    fileprivate var isBreak: Bool { self == UInt8(ascii: "\r") || self == UInt8(ascii: "\n") || self == 0 }
}
