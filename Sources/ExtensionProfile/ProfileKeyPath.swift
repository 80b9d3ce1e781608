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
