public import Foundation
internal import SystemSupport

/// A value of a profile, independent of whether it was read from a property list or YAML.
public enum ProfileValue: Sendable, Hashable {
    /// A string.
    case string(String)
    /// An integer.
    case integer(Int)
    /// A real number.
    case real(Double)
    /// A Boolean value.
    case boolean(Bool)
    /// Bytes.
    case data(Data)
    /// A date.
    case date(Date)
    /// An array.
    case array([ProfileValue])
    /// A dictionary.
    case dictionary([String: ProfileValue])
    /// A key without a value, which only YAML can express.
    case null

    /// The type as text, with its article: `an integer`.
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

    /// The value if this is a string.
    public var string: String? { if case .string(let value) = self { value } else { nil } }
    /// The value if this is an integer.
    public var integer: Int? { if case .integer(let value) = self { value } else { nil } }
    /// The value if this is an integer or a real number.
    public var number: Double? {
        switch self {
        case .integer(let value): Double(value)
        case .real(let value): value
        default: nil
        }
    }
    /// The value if this is a Boolean value.
    public var boolean: Bool? { if case .boolean(let value) = self { value } else { nil } }
    /// The value if this is data.
    public var data: Data? { if case .data(let value) = self { value } else { nil } }
    /// The elements if this is an array.
    public var array: [ProfileValue]? { if case .array(let value) = self { value } else { nil } }
    /// The entries if this is a dictionary.
    public var dictionary: [String: ProfileValue]? { if case .dictionary(let value) = self { value } else { nil } }

    /// The elements if this is an array that contains only strings.
    public var strings: [String]? {
        guard let array else { return nil }
        let strings = array.compactMap(\.string)
        return strings.count == array.count ? strings : nil
    }
}

extension ProfileValue: CustomStringConvertible {
    /// The value on one line. Strings are quoted, and data is given as its size.
    public var description: String {
        switch self {
        case .string(let value): value.debugDescription
        case .integer(let value): "\(value)"
        case .real(let value): "\(value)"
        case .boolean(let value): "\(value)"
        case .data(let value): quantity(value.count, "byte")
        case .date(let value): value.formatted(.iso8601)
        case .array(let values): "[" + values.map(\.description).joined(separator: ", ") + "]"
        case .dictionary(let values):
            "{" + values.sorted { $0.key < $1.key }.map { "\(ProfileKeyPath.readable($0)): \($1)" }.joined(separator: ", ") + "}"
        case .null: "nothing"
        }
    }
}

/// The place of a value in a profile, as messages print it: `PayloadContent[1].ExtensionData.preferredKDCs[0]`.
public struct ProfileKeyPath: Sendable, Hashable, CustomStringConvertible {
    /// One step of a path.
    public enum Component: Sendable, Hashable {
        /// One of several YAML documents in a file, counted from 1.
        case document(Int)
        /// The value of a key.
        case key(String)
        /// An element of a list, counted from 0.
        case index(Int)
    }

    /// The steps from the top of the file.
    public let components: [Component]

    /// Creates a path; the empty path is the file itself.
    public init(_ components: [Component] = []) { self.components = components }

    /// Returns the path of a key below this one.
    public func appending(key: String) -> ProfileKeyPath { ProfileKeyPath(components + [.key(key)]) }

    /// Returns the path of an element below this one.
    public func appending(index: Int) -> ProfileKeyPath { ProfileKeyPath(components + [.index(index)]) }

    /// Whether this path is the file itself.
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

    /// A key as a step of a path. A key that contains a dot or a bracket, such as a realm, is quoted.
    private static func step(_ key: String) -> String {
        let text = readable(key)
        return text == key && key.utf8.contains(where: { ".[]\"".utf8.contains($0) }) ? "\"\(key)\"" : text
    }

    /// A key as messages print it: shortened, and quoted if it has unusual characters.
    static func readable(_ key: String) -> String {
        let isPlain = !key.isEmpty && key.utf8.count <= 80 && key.utf8.allSatisfy { (0x21...0x7E).contains($0) }
        return isPlain ? key : String(key.prefix(80)).debugDescription
    }
}
