/// A second implementation of RFC 9110 section 11.6.1 in another way: quotes first, then commas, then each element. It is slow and simple;
/// the scanner must agree with it.
struct ReferenceParser {
    struct Challenge: Equatable {
        var scheme: String
        var token68: String?
        var parameters: [[String]] = []
        var isFaulty = false
    }

    private(set) var challenges: [Challenge] = []
    private var takesParameters = false

    init(_ lines: [String]) {
        for line in lines {
            for element in ReferenceParser.elements(of: ReferenceParser.unfolded(Array(line.utf8))) { read(element) }
        }
    }

    /// For each byte whether it is in a quoted string, including the quotes. A backslash escapes nothing outside of quotes.
    static func quoted(_ line: [UInt8]) -> [Bool] {
        var marks = [Bool](repeating: false, count: line.count)
        var isQuoted = false
        var isEscaped = false
        for (index, byte) in line.enumerated() {
            marks[index] = isQuoted || byte == UInt8(ascii: "\"")
            if isEscaped {
                isEscaped = false
            } else if byte == UInt8(ascii: "\"") {
                isQuoted.toggle()
            } else if isQuoted, byte == UInt8(ascii: "\\") {
                isEscaped = true
            }
        }
        return marks
    }

    /// RFC 9112 section 5.2 and RFC 9110 section 5.5: a run of white space that contains a line break or NUL becomes spaces.
    static func unfolded(_ line: [UInt8]) -> [UInt8] {
        var result: [UInt8] = []
        var run: [UInt8] = []
        for byte in line + [UInt8(ascii: ".")] {
            if [0, 9, 10, 13, 32].contains(byte) {
                run.append(byte)
            } else {
                let isFold = run.contains { [0, 10, 13].contains($0) }
                result += isFold ? run.map { _ in 32 } : run
                run = []
                result.append(byte)
            }
        }
        return result.dropLast()
    }

    private static func elements(of line: [UInt8]) -> [[UInt8]] {
        let marks = quoted(line)
        var elements: [[UInt8]] = [[]]
        for (byte, isQuoted) in zip(line, marks) {
            if byte == UInt8(ascii: ","), !isQuoted { elements.append([]) } else { elements[elements.count - 1].append(byte) }
        }
        return elements
    }

    private mutating func read(_ untrimmed: [UInt8]) {
        let element = Array(untrimmed.drop { $0 == 32 || $0 == 9 })
        guard !element.isEmpty else { return }
        let token = Array(element.prefix(while: Grammar.isTokenCharacter))
        let rest = Array(element.dropFirst(token.count))
        let content = Grammar.trimmed(rest)
        if token.isEmpty || (!content.isEmpty && ![9, 32, UInt8(ascii: "=")].contains(rest[0])) {
            if takesParameters { fault() }
        } else if content.isEmpty {
            begin(token, takesParameters: rest.first == 32)
        } else if takesParameters, content[0] == UInt8(ascii: "=") {
            readParameter(element)
        } else if rest[0] == 32 || rest[0] == 9 {
            begin(token, takesParameters: true)
            readContent(Array(rest.drop { $0 == 32 }))
        }
    }

    private mutating func readContent(_ content: [UInt8]) {
        if Grammar.isToken68(Grammar.trimmedEnd(content)) {
            challenges[challenges.count - 1].token68 = String(decoding: Grammar.trimmedEnd(content), as: UTF8.self)
            takesParameters = false
        } else {
            readParameter(content)
        }
    }

    private mutating func readParameter(_ text: [UInt8]) {
        guard let sign = text.firstIndex(of: UInt8(ascii: "=")) else { return fault() }
        let name = Grammar.trimmedEnd(Array(text[..<sign]))
        let value = Grammar.trimmed(Array(text[(sign + 1)...]))
        guard Grammar.isToken(name), let plain = Grammar.isToken(value) ? value : Grammar.unquoted(value) else { return fault() }
        let lowercased = String(decoding: name, as: UTF8.self).lowercased()
        challenges[challenges.count - 1].parameters.append([lowercased, String(decoding: plain, as: UTF8.self)])
    }

    private mutating func begin(_ scheme: [UInt8], takesParameters: Bool) {
        challenges.append(Challenge(scheme: String(decoding: scheme, as: UTF8.self)))
        self.takesParameters = takesParameters
    }

    private mutating func fault() { challenges[challenges.count - 1].isFaulty = true }
}

/// The grammar rules of RFC 9110 sections 5.6 and 11.2 for the elements.
enum Grammar {
    private static let tokenCharacters = Set("!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ".utf8)
    private static let token68Characters = Set("-._~+/0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ".utf8)

    static func isTokenCharacter(_ byte: UInt8) -> Bool { tokenCharacters.contains(byte) }

    static func isToken(_ text: [UInt8]) -> Bool { !text.isEmpty && text.allSatisfy(isTokenCharacter) }

    static func isToken68(_ text: [UInt8]) -> Bool {
        var text = text
        while text.last == UInt8(ascii: "=") { text.removeLast() }
        return !text.isEmpty && text.allSatisfy(token68Characters.contains)
    }

    /// The value of a quoted string, or nil for anything else.
    static func unquoted(_ text: [UInt8]) -> [UInt8]? {
        let quote = UInt8(ascii: "\"")
        guard text.count >= 2, text.first == quote, text.last == quote else { return nil }
        var value: [UInt8] = []
        var isEscaped = false
        for byte in text.dropFirst().dropLast() {
            if !isEscaped, byte == quote { return nil }
            if !isEscaped, byte == UInt8(ascii: "\\") {
                isEscaped = true
                continue
            }
            guard byte == 9 || byte >= 32 && byte != 127 else { return nil }
            value.append(byte)
            isEscaped = false
        }
        return isEscaped ? nil : value
    }

    static func trimmed(_ text: [UInt8]) -> [UInt8] { trimmedEnd(Array(text.drop { $0 == 32 || $0 == 9 })) }

    static func trimmedEnd(_ text: [UInt8]) -> [UInt8] {
        var text = text
        while text.last == 32 || text.last == 9 { text.removeLast() }
        return text
    }
}
