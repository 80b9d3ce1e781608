public import Foundation

/// A value of a profile, the same whether a property list or a YAML file held it.
public enum ProfileValue: Sendable, Hashable {
    /// Text.
    case string(String)
    /// A whole number.
    case integer(Int)
    /// A number with a fraction.
    case real(Double)
    /// True or false.
    case boolean(Bool)
    /// Bytes.
    case data(Data)
    /// A point in time.
    case date(Date)
    /// A list.
    case array([ProfileValue])
    /// Values by key.
    case dictionary([String: ProfileValue])
    /// A key with nothing after it, which only YAML can write.
    case null

    /// The type in words, with its article: `an integer`.
    public var typeName: String {
        switch self {
        case .string: "a string"
        case .integer: "an integer"
        case .real: "a real number"
        case .boolean: "a boolean"
        case .data: "data"
        case .date: "a date"
        case .array: "an array"
        case .dictionary: "a dictionary"
        case .null: "nothing"
        }
    }

    /// The text, if this is a string.
    public var string: String? { if case .string(let value) = self { value } else { nil } }
    /// The number, if this is an integer.
    public var integer: Int? { if case .integer(let value) = self { value } else { nil } }
    /// The number, if this is one.
    public var number: Double? {
        switch self {
        case .integer(let value): Double(value)
        case .real(let value): value
        default: nil
        }
    }
    /// The truth value, if this is one.
    public var boolean: Bool? { if case .boolean(let value) = self { value } else { nil } }
    /// The bytes, if this is data.
    public var data: Data? { if case .data(let value) = self { value } else { nil } }
    /// The elements, if this is an array.
    public var array: [ProfileValue]? { if case .array(let value) = self { value } else { nil } }
    /// The entries, if this is a dictionary.
    public var dictionary: [String: ProfileValue]? { if case .dictionary(let value) = self { value } else { nil } }

    /// The texts, if this is an array of strings only.
    public var strings: [String]? {
        guard let array else { return nil }
        let strings = array.compactMap(\.string)
        return strings.count == array.count ? strings : nil
    }
}

extension ProfileValue: CustomStringConvertible {
    /// The value on one line; text is quoted and bytes are counted.
    public var description: String {
        switch self {
        case .string(let value): value.debugDescription
        case .integer(let value): "\(value)"
        case .real(let value): "\(value)"
        case .boolean(let value): "\(value)"
        case .data(let value): "\(value.count) bytes"
        case .date(let value): value.formatted(.iso8601)
        case .array(let values): "[" + values.map(\.description).joined(separator: ", ") + "]"
        case .dictionary(let values):
            "{" + values.sorted { $0.key < $1.key }.map { "\(ProfileKeyPath.readable($0)): \($1)" }.joined(separator: ", ") + "}"
        case .null: "nothing"
        }
    }
}

/// Where a value stands in a profile, as messages print it: `PayloadContent[1].ExtensionData.preferredKDCs[0]`.
public struct ProfileKeyPath: Sendable, Hashable, CustomStringConvertible {
    /// One step down.
    public enum Component: Sendable, Hashable {
        /// One of several YAML documents in a file, counted from 1.
        case document(Int)
        /// The value of a key.
        case key(String)
        /// The element of a list, counted from 0.
        case index(Int)
    }

    /// The steps from the top of the file.
    public let components: [Component]

    /// Makes a path; the empty one is the file itself.
    public init(_ components: [Component] = []) { self.components = components }

    /// The path of a key below this one.
    public func appending(key: String) -> ProfileKeyPath { ProfileKeyPath(components + [.key(key)]) }

    /// The path of an element below this one.
    public func appending(index: Int) -> ProfileKeyPath { ProfileKeyPath(components + [.index(index)]) }

    /// Whether this is the file itself.
    public var isEmpty: Bool { components.isEmpty }

    /// The path as text. A key with unusual characters is quoted, so that a file cannot put control characters on a terminal.
    public var description: String {
        var text = ""
        for component in components {
            switch component {
            case .document(let number): text += "document \(number): "
            case .index(let index): text += "[\(index)]"
            case .key(let key): text += (text.isEmpty || text.hasSuffix(": ") ? "" : ".") + ProfileKeyPath.step(key)
            }
        }
        return text
    }

    /// A key as a step of a path; one with a dot or a bracket in it, such as a realm, is quoted.
    private static func step(_ key: String) -> String {
        let text = readable(key)
        return text == key && key.utf8.contains(where: { ".[]\"".utf8.contains($0) }) ? "\"\(key)\"" : text
    }

    /// A key as messages print it.
    static func readable(_ key: String) -> String {
        let isPlain = !key.isEmpty && key.utf8.count <= 80 && key.utf8.allSatisfy { (0x21...0x7E).contains($0) }
        return isPlain ? key : String(key.prefix(80)).debugDescription
    }
}
