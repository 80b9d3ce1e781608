/// A JSON document that keeps the order of keys and the spelling of numbers and strings, so that a change of one setting leaves the others
/// as their authors wrote them.
enum JSONText: Equatable, Sendable {
    case object([Member])
    case array([JSONText])
    /// A string, a number, a Boolean or null, as written.
    case scalar(String)

    struct Member: Equatable, Sendable {
        /// The key with its quotes, as written.
        let key: String
        var value: JSONText
    }

    /// Creates a string.
    static func string(_ text: String) -> JSONText { .scalar(quoted(text)) }

    /// The text of a string; nil for other values.
    var string: String? {
        guard case .scalar(let text) = self, text.utf8.first == UInt8(ascii: "\"") else { return nil }
        return Self.unquoted(text)
    }

    /// The value at a path of keys; nil if there is none.
    subscript(path: [String]) -> JSONText? {
        guard let first = path.first else { return self }
        guard case .object(let members) = self, let member = members.last(where: { Self.unquoted($0.key) == first }) else { return nil }
        return member.value[Array(path.dropFirst())]
    }

    /// Sets the value at a path of keys, and creates the objects on the way; nil removes it.
    ///
    /// - Returns: False if a value on the way is not an object.
    mutating func set(_ value: JSONText?, at path: [String]) -> Bool {
        guard let first = path.first else {
            if let value { self = value }
            return true
        }
        guard case .object(var members) = self else { return false }
        let rest = Array(path.dropFirst())
        let index = members.lastIndex { Self.unquoted($0.key) == first }
        if rest.isEmpty, value == nil {
            if let index { members.remove(at: index) }
        } else if let index {
            guard members[index].value.set(value, at: rest) else { return false }
        } else if value != nil {
            var inner = JSONText.object([])
            _ = inner.set(value, at: rest)
            members.append(Member(key: Self.quoted(first), value: inner))
        }
        self = .object(members)
        return true
    }

    /// The document with a line for each member and element.
    ///
    /// - Parameter indentation: The white space of one level.
    func text(indentation: String = "  ", depth: Int = 0) -> String {
        let outer = String(repeating: indentation, count: depth)
        let inner = outer + indentation
        switch self {
        case .scalar(let text): return text
        case .object([]): return "{}"
        case .array([]): return "[]"
        case .object(let members):
            let lines = members.map { "\(inner)\($0.key): \($0.value.text(indentation: indentation, depth: depth + 1))" }
            return "{\n\(lines.joined(separator: ",\n"))\n\(outer)}"
        case .array(let elements):
            let lines = elements.map { "\(inner)\($0.text(indentation: indentation, depth: depth + 1))" }
            return "[\n\(lines.joined(separator: ",\n"))\n\(outer)]"
        }
    }

    private static func quoted(_ text: String) -> String {
        let escaped = text.unicodeScalars.map { scalar in
            switch scalar {
            case "\"": "\\\""
            case "\\": "\\\\"
            case "\u{0}"..<"\u{20}": "\\u" + String(repeating: "0", count: scalar.value < 16 ? 3 : 2) + String(scalar.value, radix: 16)
            default: String(scalar)
            }
        }
        return "\"\(escaped.joined())\""
    }
}
