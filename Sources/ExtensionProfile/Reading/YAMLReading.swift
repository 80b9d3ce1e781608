import Foundation
import Yams

extension ProfileValue {
    /// Parses the documents of a YAML file. Empty documents are skipped.
    ///
    /// Plain scalars follow YAML 1.2's core schema: `true` and `false` are Booleans; `yes`, `no` and `on` are strings. Throws a
    /// ``ProfileError`` with code `malformed` that names the line.
    public static func documents(yaml text: String, source: String) throws(ProfileError) -> [ProfileValue] {
        try refuseManyAliases(text, source: source)
        var documents: [ProfileValue] = []
        do {
            var nodes = try Yams.compose_all(yaml: text, .basic)
            while let node = nodes.next() {
                var budget = 100_000
                let value = try ProfileValue(node, source: source, depth: 0, budget: &budget)
                if value != .null { documents.append(value) }
            }
            if let error = nodes.error { throw error }
        } catch let error as ProfileError {
            throw error
        } catch {
            throw ProfileError(.malformed, source: source, reason: "This is not YAML: \(sentence(for: error))")
        }
        return documents
    }

    /// Refuses files with many aliases. Nested aliases can expand to any size in the parser, and a profile needs almost none.
    private static func refuseManyAliases(_ text: String, source: String) throws(ProfileError) {
        var anchors = 0
        var aliases = 0
        var previous = UInt8(ascii: " ")
        for byte in text.utf8 {
            if mayPrecedeAlias(previous) {
                if byte == UInt8(ascii: "&") { anchors += 1 }
                if byte == UInt8(ascii: "*") { aliases += 1 }
            }
            previous = byte
        }
        guard anchors < 2 || aliases <= 32 else {
            throw ProfileError(
                .malformed,
                source: source,
                reason: "This YAML has \(aliases) aliases (*name); a profile may have 32. Write the values in full."
            )
        }
    }

    /// Whether the parser can read an alias after this byte: a space, an indicator (`{"a":*x}` is valid), a line break, or the last byte of
    /// a byte order mark. U+0085, U+2028 and U+2029 are line breaks too.
    private static func mayPrecedeAlias(_ byte: UInt8) -> Bool {
        " \n\r\t[{,:?".utf8.contains(byte) || [0x85, 0xA8, 0xA9, 0xBF].contains(byte)
    }

    private init(_ node: Node, source: String, depth: Int, budget: inout Int) throws(ProfileError) {
        budget -= 1
        guard depth < Self.maximumDepth, budget > 0 else {
            throw ProfileError(
                .malformed,
                source: source,
                reason: "This YAML has more values, or more levels of them, than a profile needs."
            )
        }
        switch node {
        case .scalar(let scalar): self = try ProfileValue(scalar, source: source)
        case .sequence(let sequence):
            var elements: [ProfileValue] = []
            for element in sequence {
                elements.append(try ProfileValue(element, source: source, depth: depth + 1, budget: &budget))
            }
            self = .array(elements)
        case .mapping(let mapping):
            var entries: [String: ProfileValue] = [:]
            for (key, value) in mapping {
                guard let name = key.scalar?.string else {
                    throw Self.malformed("a key is a list or a mapping; the keys of a profile are strings", key.mark, source)
                }
                entries[name] = try ProfileValue(value, source: source, depth: depth + 1, budget: &budget)
            }
            self = .dictionary(entries)
        case .alias(let alias): throw Self.malformed("an alias is undefined", alias.mark, source)
        }
    }

    private init(_ scalar: Node.Scalar, source: String) throws(ProfileError) {
        let text = scalar.string
        // The tag of an untagged scalar is still empty here: the basic resolver sets only the tags that a mapping's keys need.
        switch scalar.tag.description {
        case "" where scalar.style == .plain: self = ProfileValue(plain: text)
        case "", "!", "tag:yaml.org,2002:str": self = .string(text)
        case "tag:yaml.org,2002:binary":
            guard let data = Data(base64Encoded: text, options: .ignoreUnknownCharacters) else {
                throw Self.malformed("!!binary is not followed by base64", scalar.mark, source)
            }
            self = .data(data)
        case let tag: throw Self.malformed("the tag \(tag.debugDescription) is not supported in a profile", scalar.mark, source)
        }
    }

    /// Follows YAML 1.2.2 section 10.3.2, except that octal and infinite numbers stay strings.
    private init(plain text: String) {
        switch text {
        case "", "~", "null", "Null", "NULL": self = .null
        case "true", "True", "TRUE": self = .boolean(true)
        case "false", "False", "FALSE": self = .boolean(false)
        default:
            let digits = text.utf8.contains { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
            let isNumber = digits && text.utf8.allSatisfy { "0123456789+-.eE".utf8.contains($0) }
            if isNumber, let integer = Int(text) {
                self = .integer(integer)
            } else if isNumber, let real = Double(text) {
                self = .real(real)
            } else {
                self = .string(text)
            }
        }
    }

    private static func malformed(_ problem: String, _ mark: Mark?, _ source: String) -> ProfileError {
        let line = mark.map { "line \($0.line): " } ?? ""
        return ProfileError(.malformed, source: source, reason: "This is not YAML that a profile can be read from: \(line)\(problem).")
    }

    /// The parser's message with the line, without the excerpt of the file that its description contains.
    private static func sentence(for error: any Error) -> String {
        switch error as? YamlError {
        case .scanner(_, let problem, let mark, _), .parser(_, let problem, let mark, _), .composer(_, let problem, let mark, _):
            "line \(mark.line), column \(mark.column): \(problem).\(hint(problem))"
        case .reader(let problem, let offset, _, _): "\(problem)\(offset.map { " at byte \($0)" } ?? "")."
        case .duplicatedKeysInMapping(let duplicates, let context):
            "line \(context.mark.line): the key \(duplicates.map(ProfileKeyPath.readable).joined(separator: ", ")) occurs twice "
                + "in one mapping."
        default: "\(error)"
        }
    }

    /// `Hosts: [*.example.com]` is a likely mistake: the parser reads the asterisk as an alias.
    private static func hint(_ problem: String) -> String {
        guard ["alphabetic", "start any token", "alias"].contains(where: problem.contains) else { return "" }
        return " A text that begins with one of * & @ ` % must be quoted."
    }
}
