internal import CommandSupport
internal import Foundation
internal import Yams

/// A mapping in a plan's file. Unknown keys are errors, and every error names its place in the file.
struct PlanMapping {
    private let entries: [String: Node]
    /// The place of the mapping in the file, such as `realms[0].users`; empty for the whole file.
    let path: String

    init(_ node: Node, at path: String, keys: Set<String>) throws(PlanFault) {
        guard let mapping = node.mapping else { throw PlanFault(path, "expected a mapping, KEY: VALUE.") }
        self.path = path
        var entries: [String: Node] = [:]
        for (key, value) in mapping {
            guard let name = key.string else { throw PlanFault(path, "expected a string as the key.") }
            guard keys.isEmpty || keys.contains(name) else {
                throw PlanFault(path, "unknown key \(name); the keys are \(keys.sorted().joined(separator: ", ")).")
            }
            entries[name] = value
        }
        self.entries = entries
    }

    /// All names in alphabetical order.
    var names: [String] { entries.keys.sorted() }

    func node(_ key: String) -> Node? { entries[key] }

    func place(_ key: String) -> String { path.isEmpty ? key : "\(path).\(key)" }

    func text(_ key: String) throws(PlanFault) -> String? {
        guard let node = entries[key] else { return nil }
        guard let text = node.scalar?.string, !text.isEmpty else { throw PlanFault(place(key), "expected a string.") }
        return text
    }

    func needed(_ key: String) throws(PlanFault) -> String {
        guard let text = try text(key) else { throw PlanFault(path, "\(key) is missing.") }
        return text
    }

    func flag(_ key: String) throws(PlanFault) -> Bool {
        guard let node = entries[key] else { return false }
        guard let value = node.bool else { throw PlanFault(place(key), "expected true or false.") }
        return value
    }

    func number(_ key: String) throws(PlanFault) -> Int? {
        guard let node = entries[key] else { return nil }
        guard let value = node.int else { throw PlanFault(place(key), "expected a whole number.") }
        return value
    }

    /// Reads a duration such as `90s`, `10h` or `7d`.
    func duration(_ key: String) throws(PlanFault) -> Duration? {
        guard let text = try text(key) else { return nil }
        guard let lifetime = Lifetime(argument: text) else { throw PlanFault(place(key), "expected a time, such as 90s, 10h or 7d.") }
        return lifetime.duration
    }

    /// Reads a duration that may be negative.
    func offset(_ key: String) throws(PlanFault) -> Duration? {
        guard let text = try text(key) else { return nil }
        guard let offset = ClockOffsetArgument(argument: text) else { throw PlanFault(place(key), ClockOffsetArgument.form) }
        return offset.duration
    }

    func texts(_ key: String) throws(PlanFault) -> [String] {
        guard let node = entries[key] else { return [] }
        guard let items = node.sequence else { throw PlanFault(place(key), "expected a list of strings.") }
        var texts: [String] = []
        for item in items {
            guard let text = item.scalar?.string, !text.isEmpty else { throw PlanFault(place(key), "expected a list of strings.") }
            texts.append(text)
        }
        return texts
    }

    /// Reads a list of mappings with these keys.
    func mappings(_ key: String, keys: Set<String>) throws(PlanFault) -> [PlanMapping] {
        guard let node = entries[key] else { return [] }
        guard let items = node.sequence else { throw PlanFault(place(key), "expected a list.") }
        var mappings: [PlanMapping] = []
        for (index, item) in items.enumerated() { mappings.append(try PlanMapping(item, at: "\(place(key))[\(index)]", keys: keys)) }
        return mappings
    }
}

/// An error in a plan and its place.
struct PlanFault: Error {
    let message: String

    init(_ place: String, _ message: String) { self.message = place.isEmpty ? message : "\(place): \(message)" }
}
