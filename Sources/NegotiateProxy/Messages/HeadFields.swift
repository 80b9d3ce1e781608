/// The header fields of a message in the order in which they were received.
///
/// Names have the received spelling and are compared without case. Values are bytes, because a field may contain text of any encoding.
package struct HeadFields: Sendable, Hashable {
    package struct Field: Sendable, Hashable {
        package let name: String
        package let value: [UInt8]
        /// The name in lower case.
        let key: String

        package init(_ name: String, _ value: [UInt8]) {
            self.name = name
            self.value = value
            key = name.asciiLowercasedText
        }
    }

    package private(set) var all: [Field] = []

    package init() {}

    package init(_ fields: [(String, String)]) {
        all = fields.map { Field($0.0, Array($0.1.utf8)) }
    }

    /// The values of all fields with a name, in order, with invalid UTF-8 repaired.
    package subscript(name: String) -> [String] { values(name).map { String(decoding: $0, as: UTF8.self) } }

    package func values(_ name: String) -> [[UInt8]] {
        let key = name.asciiLowercasedText
        return all.filter { $0.key == key }.map(\.value)
    }

    package func contains(_ name: String) -> Bool {
        let key = name.asciiLowercasedText
        return all.contains { $0.key == key }
    }

    package mutating func add(_ name: String, _ value: String) { all.append(Field(name, Array(value.utf8))) }

    package mutating func add(_ field: Field) { all.append(field) }

    package mutating func remove(_ name: String) {
        let key = name.asciiLowercasedText
        all.removeAll { $0.key == key }
    }

    /// Removes all fields whose names, in lower case, are in the set.
    package mutating func remove(_ keys: Set<String>) { all.removeAll { keys.contains($0.key) } }

    package mutating func replace(_ name: String, _ value: String) {
        remove(name)
        add(name, value)
    }

    /// The elements of a list-valued field (RFC 9110 section 5.6.1), in lower case. Only for fields without quoted strings.
    package func tokens(_ name: String) -> [String] {
        self[name].flatMap { $0.split(separator: ",") }.map { $0.trimmingBlanks.asciiLowercasedText }.filter { !$0.isEmpty }
    }

    /// Whether the `Connection` field contains an option.
    package func hasConnectionOption(_ option: String) -> Bool { tokens("Connection").contains(option) }

    /// Appends the field lines, without the empty line at the end of a head.
    func write(to bytes: inout [UInt8]) {
        for field in all {
            bytes += field.name.utf8
            bytes += [UInt8(ascii: ":"), UInt8(ascii: " ")]
            bytes += field.value
            bytes += [0x0D, 0x0A]
        }
    }
}

extension StringProtocol {
    var asciiLowercasedText: String {
        guard utf8.contains(where: { UInt8(ascii: "A")...UInt8(ascii: "Z") ~= $0 }) else { return String(self) }
        return String(decoding: utf8.map { UInt8(ascii: "A")...UInt8(ascii: "Z") ~= $0 ? $0 + 32 : $0 }, as: UTF8.self)
    }

    /// The text without spaces and tabs at its ends.
    var trimmingBlanks: SubSequence {
        var rest = self[...]
        while let first = rest.first, first == " " || first == "\t" { rest = rest.dropFirst() }
        while let last = rest.last, last == " " || last == "\t" { rest = rest.dropLast() }
        return rest
    }
}
