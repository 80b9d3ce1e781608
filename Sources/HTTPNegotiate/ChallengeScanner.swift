/// Reads the challenges of one field line (RFC 9110 section 11.6.1) in one pass over its bytes.
///
/// `challenge = auth-scheme [ 1*SP ( token68 / #auth-param ) ]`, and the field is a list of those. Commas part challenges as well as
/// parameters, so what a list element is shows only after its first token: `token =` goes on with the challenge before it, `token` alone or
/// `token SP something` begins a new one.
struct ChallengeScanner<Bytes: RandomAccessCollection> where Bytes.Element == UInt8, Bytes.Index == Int {
    /// What was found.
    enum Finding: Hashable {
        case challenge(AuthenticationChallenge)
        /// A challenge that breaks the grammar.
        case malformed(scheme: String)
    }

    /// The challenge whose parameters are being read.
    private struct Open {
        var scheme: String
        var token68: String?
        var parameters: [AuthenticationChallenge.Parameter] = []
        var isMalformed = false
        /// Only a scheme with white space after it, and no token68, can have parameters.
        var takesParameters = false
    }

    private let bytes: Bytes
    private var position: Int
    private var open: Open?
    private var findings: [Finding] = []

    init(_ bytes: Bytes) {
        self.bytes = bytes
        position = bytes.startIndex
    }

    /// Reads to the end.
    consuming func scan() -> [Finding] {
        while true {
            skip { $0.isBlank || $0 == UInt8(ascii: ",") }
            if position == bytes.endIndex { break }
            readElement()
        }
        close()
        return findings
    }

    private mutating func readElement() {
        let start = position
        guard let token = readToken() else { return skipElement() }
        let hasBlank = skip { $0.isBlank } > 0
        switch current {
        case nil, UInt8(ascii: ","):
            begin(Open(scheme: token, takesParameters: hasBlank))
        case UInt8(ascii: "="):
            if open?.takesParameters == true {
                position = start
                readParameter()
            } else if hasBlank {
                begin(Open(scheme: token, isMalformed: true))
                skipElement()
            } else {
                // A parameter of no challenge.
                skipElement()
            }
        default:
            guard hasBlank else { return skipElement() }
            begin(Open(scheme: token, takesParameters: true))
            readContent()
        }
    }

    /// What follows the first scheme and its white space: a token68 or the first parameter.
    private mutating func readContent() {
        let start = position
        let length = skip { $0.isToken68Character }
        skip { $0 == UInt8(ascii: "=") }
        let end = position
        if length > 0, skipToComma() {
            let token = text(start..<end)
            open?.token68 = token
            open?.takesParameters = false
        } else {
            position = start
            readParameter()
        }
    }

    /// `token BWS "=" BWS ( token / quoted-string )`
    private mutating func readParameter() {
        guard let name = readToken() else { return spoil() }
        skip { $0.isBlank }
        guard current == UInt8(ascii: "=") else { return spoil() }
        position += 1
        skip { $0.isBlank }
        guard let value = current == UInt8(ascii: "\"") ? readQuotedString() : readToken(), skipToComma() else { return spoil() }
        open?.parameters.append(AuthenticationChallenge.Parameter(name: name, value: value))
    }

    /// Gives up the challenge at hand; later parameters still belong to it.
    private mutating func spoil() {
        open?.isMalformed = true
        skipElement()
    }

    /// Goes to the next comma that is not in a quoted string. A quoted string that does not end takes the rest of the line with it.
    private mutating func skipElement() {
        while let byte = current, byte != UInt8(ascii: ",") {
            if byte == UInt8(ascii: "\"") { skipQuotedString() } else { position += 1 }
        }
    }

    private mutating func begin(_ next: Open) {
        close()
        open = next
    }

    private mutating func close() {
        guard let last = open.take() else { return }
        let challenge = AuthenticationChallenge(scheme: last.scheme, token68: last.token68, parameters: last.parameters)
        findings.append(last.isMalformed ? .malformed(scheme: last.scheme) : .challenge(challenge))
    }
}

// MARK: - Bytes

extension ChallengeScanner {
    private var current: UInt8? { position < bytes.endIndex ? bytes[position] : nil }

    @discardableResult private mutating func skip(while isWanted: (UInt8) -> Bool) -> Int {
        let start = position
        while let byte = current, isWanted(byte) { position += 1 }
        return position - start
    }

    /// Skips white space; whether the element ends there.
    private mutating func skipToComma() -> Bool {
        skip { $0.isBlank }
        return current == nil || current == UInt8(ascii: ",")
    }

    private func text(_ range: Range<Int>) -> String { String(decoding: bytes[range], as: UTF8.self) }

    private mutating func readToken() -> String? {
        let start = position
        return skip { $0.isTokenCharacter } > 0 ? text(start..<position) : nil
    }

    /// The text between the quotes, escapes resolved (RFC 9110 section 5.6.4). Nil, without moving, where the string breaks the grammar.
    private mutating func readQuotedString() -> String? {
        let start = position
        var value: [UInt8] = []
        position += 1
        while var byte = current {
            position += 1
            if byte == UInt8(ascii: "\"") { return String(decoding: value, as: UTF8.self) }
            if byte == UInt8(ascii: "\\") {
                guard let escaped = current else { break }
                byte = escaped
                position += 1
            }
            guard byte >= 0x20 && byte != 0x7F || byte == UInt8(ascii: "\t") else { break }
            value.append(byte)
        }
        position = start
        return nil
    }

    private mutating func skipQuotedString() {
        position += 1
        while let byte = current {
            position += 1
            if byte == UInt8(ascii: "\"") { return }
            if byte == UInt8(ascii: "\\"), current != nil { position += 1 }
        }
    }
}

extension ChallengeScanner<[UInt8]> {
    /// Reads several field lines; no challenge goes on from one line to the next.
    static func scan(_ fieldValues: [String]) -> [Finding] {
        fieldValues.flatMap { ChallengeScanner(unfolded(Array($0.utf8))).scan() }
    }

    /// A line break before white space is an old way to fold a line: it counts as white space (RFC 9112 section 5.2).
    private static func unfolded(_ bytes: [UInt8]) -> [UInt8] {
        let (carriageReturn, lineFeed, space) = (UInt8(ascii: "\r"), UInt8(ascii: "\n"), UInt8(ascii: " "))
        var result = bytes
        for index in bytes.indices.dropLast() where bytes[index] == lineFeed && bytes[index + 1].isBlank {
            result[index] = space
            if index > 0, bytes[index - 1] == carriageReturn { result[index - 1] = space }
        }
        return result
    }
}

extension UInt8 {
    fileprivate var isBlank: Bool { self == UInt8(ascii: " ") || self == UInt8(ascii: "\t") }
}
