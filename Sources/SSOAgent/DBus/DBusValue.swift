/// A value that has arrived. Numbers are as wide as the widest.
indirect enum DBusValue: Hashable, Sendable {
    case boolean(Bool)
    case signed(Int64)
    case unsigned(UInt64)
    case double(Double)
    /// A text, the path of an object, or a signature.
    case string(String)
    /// The elements of an array or the members of a structure.
    case list([DBusValue])
    /// A key and its value.
    case entry(DBusValue, DBusValue)

    var bool: Bool? { if case .boolean(let value) = self { value } else { nil } }
    var number: UInt64? { if case .unsigned(let value) = self { value } else { nil } }
    var string: String? { if case .string(let value) = self { value } else { nil } }
    var list: [DBusValue]? { if case .list(let values) = self { values } else { nil } }

    /// The values by name of a dictionary whose keys are texts.
    var dictionary: [String: DBusValue] {
        (list ?? []).reduce(into: [:]) { result, element in
            if case .entry(.string(let key), let value) = element { result[key] = value }
        }
    }
}
