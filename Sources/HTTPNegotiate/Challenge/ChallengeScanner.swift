/// Reads the challenges of one field line (RFC 9110 section 11.6.1) part by part: in linear time, and without storage of its own.
///
/// `challenge = auth-scheme [ 1*SP ( token68 / #auth-param ) ]`, and the field is a list of those. Commas part challenges as well as
/// parameters, so what a list element is shows only after its first token: `token =` goes on with the challenge before it, `token` alone or
/// `token SP something` begins a new one.
struct ChallengeScanner<Bytes: Collection> where Bytes.Element == UInt8 {
    /// A part of a challenge, as it stands in the line.
    enum Part {
        /// A challenge begins.
        case scheme(Bytes.SubSequence)
        /// The token of the challenge at hand.
        case token68(Bytes.SubSequence)
        /// A parameter of the challenge at hand; a quoted value has its quotes and escapes still.
        case parameter(name: Bytes.SubSequence, value: Bytes.SubSequence)
        /// What breaks the grammar of the challenge at hand.
        case fault
    }

    private var bytes: Bytes
    private var position: Bytes.Index
    /// The challenge at hand may have parameters: there is a space after its scheme, and no token68.
    private var takesParameters = false
    /// The position is right after a scheme that has something after it.
    private var isBeforeContent = false

    init(_ bytes: Bytes) {
        self.bytes = bytes
        position = bytes.startIndex
    }

    /// Takes the next line of the same field. The lines are one list (RFC 9110 section 5.3), so parameters may go on in it; a quoted string
    /// may not.
    mutating func take(_ line: Bytes) {
        bytes = line
        position = line.startIndex
    }

    /// The next part, or nil at the end of the line.
    mutating func next() -> Part? {
        if isBeforeContent { return readContent() }
        while true {
            skip { $0.isBlank || $0 == UInt8(ascii: ",") }
            if position == bytes.endIndex { return nil }
            if let part = readElement() { return part }
        }
    }

    /// A scheme or a parameter; nil for what is neither and belongs to no challenge.
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

    /// What follows a scheme: a token68, or the first parameter.
    private mutating func readContent() -> Part {
        isBeforeContent = false
        // A tab is no space here, so it spoils the challenge.
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

    /// Skips an element that begins with no token or goes on with something strange: a fault where a parameter may stand.
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

    /// Whether there was anything to skip.
    @discardableResult private mutating func skip(while isWanted: (UInt8) -> Bool) -> Bool {
        let start = position
        while let byte = current, isWanted(byte) { advance() }
        return position > start
    }

    /// Skips white space; whether the element ends there.
    private mutating func skipToComma() -> Bool {
        skip { $0.isBlank }
        return current == nil || current == UInt8(ascii: ",")
    }

    /// Goes to the next comma that is not in a quoted string. A quoted string that does not end takes the rest of the line with it.
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

    /// Goes behind a quoted string, whatever is in it; whether it keeps to the grammar (RFC 9110 section 5.6.4).
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

    /// What may stand in a quoted string, some of it only after a backslash.
    fileprivate var isQuotable: Bool { self >= 0x20 && self != 0x7F || self == UInt8(ascii: "\t") }
}

/// The parts of all challenges of a message: its field lines read as one list (RFC 9110 section 5.3).
struct ChallengeParts: Sequence, IteratorProtocol {
    private var lines: ArraySlice<String>
    private var scanner = ChallengeScanner("".utf8)

    /// - Parameter fieldValues: The values of the lines, in their order.
    init(_ fieldValues: [String]) { lines = fieldValues[...] }

    mutating func next() -> ChallengeScanner<String.UTF8View>.Part? {
        while true {
            if let part = scanner.next() { return part }
            guard let line = lines.popFirst() else { return nil }
            scanner.take(ChallengeParts.unfolded(line).utf8)
        }
    }

    /// The line with spaces for old folds (RFC 9112 section 5.2) and for other line breaks and NULs (RFC 9110 section 5.5).
    ///
    /// Hardly a line has any, and then nothing is copied.
    private static func unfolded(_ line: String) -> String {
        guard line.utf8.contains(where: \.isBreak) else { return line }
        var bytes = Array(line.utf8)
        var start = 0
        while start < bytes.count {
            let end = bytes[start...].firstIndex { !$0.isBreak && $0 != UInt8(ascii: " ") && $0 != UInt8(ascii: "\t") } ?? bytes.count
            // A fold is a break and all white space around it, tabs too.
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
