/// A type of the D-Bus specification ("Type System").
indirect enum DBusType: Hashable, Sendable {
    case byte, boolean, int16, uint16, int32, uint32, int64, uint64, double, string, objectPath, signature, descriptor, variant
    case array(DBusType)
    case structure([DBusType])
    case entry(DBusType, DBusType)

    /// How deep containers may stand in each other, variants included; what logind sends is four deep.
    static let maximumDepth = 32

    /// Where a value of it begins: at a multiple of so many bytes.
    var alignment: Int {
        switch self {
        case .byte, .signature, .variant: 1
        case .int16, .uint16: 2
        case .boolean, .int32, .uint32, .string, .objectPath, .descriptor, .array: 4
        case .int64, .uint64, .double, .structure, .entry: 8
        }
    }

    /// The types of a signature.
    static func types(in signature: String) throws(DBusError) -> [DBusType] {
        var rest = Array(signature.utf8)[...]
        guard rest.count <= 255 else { throw .malformed }
        var types: [DBusType] = []
        while !rest.isEmpty { types.append(try next(in: &rest, depth: 0)) }
        return types
    }

    private static func next(in rest: inout ArraySlice<UInt8>, depth: Int) throws(DBusError) -> DBusType {
        guard depth < maximumDepth, let letter = rest.popFirst() else { throw .malformed }
        switch letter {
        case UInt8(ascii: "a"):
            if rest.first == UInt8(ascii: "{") { return .array(try entry(in: &rest, depth: depth + 1)) }
            return .array(try next(in: &rest, depth: depth + 1))
        case UInt8(ascii: "("):
            var members: [DBusType] = []
            while rest.first != UInt8(ascii: ")") { members.append(try next(in: &rest, depth: depth + 1)) }
            rest.removeFirst()
            guard !members.isEmpty else { throw .malformed }
            return .structure(members)
        default:
            guard let type = basic(letter) ?? (letter == UInt8(ascii: "v") ? .variant : nil) else { throw .malformed }
            return type
        }
    }

    private static func entry(in rest: inout ArraySlice<UInt8>, depth: Int) throws(DBusError) -> DBusType {
        rest.removeFirst()
        guard let letter = rest.popFirst(), let key = basic(letter) else { throw .malformed }
        let value = try next(in: &rest, depth: depth + 1)
        guard rest.popFirst() == UInt8(ascii: "}") else { throw .malformed }
        return .entry(key, value)
    }

    private static func basic(_ letter: UInt8) -> DBusType? {
        switch letter {
        case UInt8(ascii: "y"): .byte
        case UInt8(ascii: "b"): .boolean
        case UInt8(ascii: "n"): .int16
        case UInt8(ascii: "q"): .uint16
        case UInt8(ascii: "i"): .int32
        case UInt8(ascii: "u"): .uint32
        case UInt8(ascii: "x"): .int64
        case UInt8(ascii: "t"): .uint64
        case UInt8(ascii: "d"): .double
        case UInt8(ascii: "s"): .string
        case UInt8(ascii: "o"): .objectPath
        case UInt8(ascii: "g"): .signature
        case UInt8(ascii: "h"): .descriptor
        default: nil
        }
    }
}
