internal import Foundation

extension JSONText {
    /// Why a text is not a JSON document.
    struct SyntaxError: Error, Equatable {
        let line: Int
    }

    /// Parses a document.
    init(parsing text: String) throws(SyntaxError) {
        var parser = Parser(bytes: Array(text.utf8))
        self = try parser.document()
    }

    /// The text of a quoted string.
    static func unquoted(_ text: String) -> String? {
        try? JSONDecoder().decode(String.self, from: Data(text.utf8))
    }

    private struct Parser {
        let bytes: [UInt8]
        var position = 0
        var depth = 0

        init(bytes: [UInt8]) { self.bytes = bytes.starts(with: [0xEF, 0xBB, 0xBF]) ? Array(bytes.dropFirst(3)) : bytes }

        var next: UInt8? { position < bytes.count ? bytes[position] : nil }

        var error: SyntaxError { SyntaxError(line: bytes[..<min(position, bytes.count)].count { $0 == UInt8(ascii: "\n") } + 1) }

        mutating func document() throws(SyntaxError) -> JSONText {
            let value = try value()
            skipSpace()
            guard next == nil else { throw error }
            return value
        }

        mutating func skipSpace() {
            while let byte = next, [0x20, 0x09, 0x0A, 0x0D].contains(byte) { position += 1 }
        }

        /// Skips white space and a character; returns whether it was there.
        mutating func take(_ character: Unicode.Scalar) -> Bool {
            skipSpace()
            guard next == UInt8(ascii: character) else { return false }
            position += 1
            return true
        }

        mutating func value() throws(SyntaxError) -> JSONText {
            // Deeper documents than any program's settings would exhaust the stack.
            guard depth < 200 else { throw error }
            depth += 1
            defer { depth -= 1 }
            if take("{") { return try object() }
            if take("[") { return try array() }
            return .scalar(try scalar())
        }

        mutating func object() throws(SyntaxError) -> JSONText {
            var members: [Member] = []
            if take("}") { return .object([]) }
            repeat {
                let key = try scalar()
                guard key.hasPrefix("\""), take(":") else { throw error }
                members.append(Member(key: key, value: try value()))
            } while take(",")
            guard take("}") else { throw error }
            return .object(members)
        }

        mutating func array() throws(SyntaxError) -> JSONText {
            var elements: [JSONText] = []
            if take("]") { return .array([]) }
            repeat { elements.append(try value()) } while take(",")
            guard take("]") else { throw error }
            return .array(elements)
        }

        /// A string, a number, a Boolean or null. Foundation decides whether it is one, and gets nothing that it could take for another
        /// encoding, such as a byte order mark.
        mutating func scalar() throws(SyntaxError) -> String {
            skipSpace()
            let start = position
            if next == UInt8(ascii: "\"") {
                position += 1
                while let byte = next, byte != UInt8(ascii: "\"") { position += byte == UInt8(ascii: "\\") ? 2 : 1 }
                position += 1
            } else {
                while let byte = next, byte > 0x20, byte < 0x7F, !Array(",:[]{}\"".utf8).contains(byte) { position += 1 }
            }
            guard start < position, position <= bytes.count else { throw error }
            let text = bytes[start..<position]
            guard text.allSatisfy({ $0 >= 0x20 }) else { throw error }
            let isValid = (try? JSONSerialization.jsonObject(with: Data(text), options: .fragmentsAllowed)) != nil
            guard isValid, let scalar = String(validating: text, as: UTF8.self) else { throw error }
            return scalar
        }
    }
}
