/// Checks one key: its name, the type of its value, and the value.
enum KeyChecker {
    /// A fault, and the steps from the key to the faulty part of its value.
    struct Fault {
        let steps: [ProfileKeyPath.Component]
        let verdict: KeyVerdict

        init(_ verdict: KeyVerdict, at steps: [ProfileKeyPath.Component] = []) {
            self.steps = steps
            self.verdict = verdict
        }
    }

    /// The verdict for a key whose value has no fault, or is not checked.
    static func verdict(name: String, place: ProfileKey.Place) -> KeyVerdict {
        guard let key = ProfileKey.named(name, in: place) else {
            return Spelling.suggestion(for: name, in: place).map(KeyVerdict.misspelled(suggestion:)) ?? .unknown
        }
        return switch key.state {
        case .used: .used
        case .notApplicable(let reason): .notApplicable(reason: reason)
        }
    }

    /// The faults in the value of a known key.
    static func faults(in value: ProfileValue, of key: ProfileKey) -> [Fault] {
        let mismatches = typeFaults(value, key.type)
        guard mismatches.isEmpty else { return mismatches }
        if let number = value.integer, number < 0 {
            return [Fault(.badValue(reason: "found \(number), expected a non-negative number"))]
        }
        return key.check.faults(value)
    }

    private static func typeFaults(_ value: ProfileValue, _ type: ProfileKey.ValueType) -> [Fault] {
        switch (type, value) {
        case (.string, .string), (.integer, .integer), (.boolean, .boolean), (.data, .data), (.array, .array),
            (.dictionary, .dictionary), (.number, .integer), (.number, .real), (.any, _):
            []
        case (.strings, .array(let elements)):
            elements.enumerated().compactMap { offset, element in
                element.string == nil ? Fault(.wrongType(expected: "a string", found: found(element)), at: [.index(offset)]) : nil
            }
        case (.stringListsByName, .dictionary(let entries)):
            entries.sorted { $0.key < $1.key }.flatMap { name, list in
                typeFaults(list, .strings).map { Fault($0.verdict, at: [.key(name)] + $0.steps) }
            }
        case (.stringsByName, .dictionary(let entries)):
            entries.sorted { $0.key < $1.key }.compactMap { name, element in
                element.string == nil ? Fault(.wrongType(expected: "a string", found: found(element)), at: [.key(name)]) : nil
            }
        default: [Fault(.wrongType(expected: type.description, found: found(value)))]
        }
    }

    /// The type, followed by the value if it is short, so that the user finds it in the file.
    private static func found(_ value: ProfileValue) -> String {
        switch value {
        case .string, .integer, .real, .boolean:
            let text = String(describing: value)
            return text.utf8.count <= 60 ? "\(value.typeName) (\(text))" : value.typeName
        default: return value.typeName
        }
    }
}
