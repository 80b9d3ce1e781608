/// A received value. Integers are widened to 64 bits.
indirect enum DBusValue: Hashable, Sendable {
    case boolean(Bool)
    case signed(Int64)
    case unsigned(UInt64)
    case double(Double)
    /// A string, an object path, or a signature.
    case string(String)
    /// The elements of an array or the members of a structure.
    case list([DBusValue])
    /// A key and its value in a dictionary.
    case entry(DBusValue, DBusValue)

    var bool: Bool? { if case .boolean(let value) = self { value } else { nil } }
    var number: UInt64? { if case .unsigned(let value) = self { value } else { nil } }
    var string: String? { if case .string(let value) = self { value } else { nil } }
    var list: [DBusValue]? { if case .list(let values) = self { values } else { nil } }

    /// The values by key of a dictionary with string keys.
    var dictionary: [String: DBusValue] {
        (list ?? []).reduce(into: [:]) { result, element in
            if case .entry(.string(let key), let value) = element { result[key] = value }
        }
    }
}

/// A type of the D-Bus specification ("Type System").
indirect enum DBusType: Hashable, Sendable {
    case byte, boolean, int16, uint16, int32, uint32, int64, uint64, double, string, objectPath, signature, descriptor, variant
    case array(DBusType)
    case structure([DBusType])
    case entry(DBusType, DBusType)

    /// The maximum nesting depth of containers, including variants; logind's messages have a depth of four.
    static let maximumDepth = 32

    /// The alignment of a value in bytes.
    var alignment: Int {
        switch self {
        case .byte, .signature, .variant: 1
        case .int16, .uint16: 2
        case .boolean, .int32, .uint32, .string, .objectPath, .descriptor, .array: 4
        case .int64, .uint64, .double, .structure, .entry: 8
        }
    }

    /// Parses a signature.
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

/// Decodes values from the bytes of a message. The first byte must be aligned to 8. Reading beyond the end throws `DBusError.malformed`.
struct DBusReader {
    private let bytes: [UInt8]
    private let isBigEndian: Bool
    private(set) var offset = 0

    init(_ bytes: [UInt8], isBigEndian: Bool) {
        self.bytes = bytes
        self.isBigEndian = isBigEndian
    }

    var isAtEnd: Bool { offset == bytes.count }

    /// Skips padding, which must be zero.
    mutating func align(_ alignment: Int) throws(DBusError) {
        for byte in try take(-offset & (alignment - 1)) where byte != 0 { throw .malformed }
    }

    private mutating func take(_ count: Int) throws(DBusError) -> ArraySlice<UInt8> {
        guard count >= 0, count <= bytes.count - offset else { throw .malformed }
        defer { offset += count }
        return bytes[offset..<offset + count]
    }

    mutating func integer<Integer: FixedWidthInteger>(_: Integer.Type) throws(DBusError) -> Integer {
        try align(Integer.bitWidth / 8)
        let bytes = try take(Integer.bitWidth / 8)
        let ordered = isBigEndian ? Array(bytes) : bytes.reversed()
        return ordered.reduce(0) { $0 << 8 | Integer(truncatingIfNeeded: $1) }
    }

    /// Reads a string of a known length, which is followed by a zero byte.
    private mutating func text(_ length: Int) throws(DBusError) -> String {
        let bytes = try take(length)
        guard try take(1).first == 0, !bytes.contains(0), let text = String(validating: bytes, as: UTF8.self) else { throw .malformed }
        return text
    }

    /// - Parameter depth: The number of enclosing containers.
    mutating func value(_ type: DBusType, depth: Int = 0) throws(DBusError) -> DBusValue {
        guard depth <= DBusType.maximumDepth else { throw .malformed }
        switch type {
        case .byte: return .unsigned(UInt64(try integer(UInt8.self)))
        case .uint16: return .unsigned(UInt64(try integer(UInt16.self)))
        case .uint32, .descriptor: return .unsigned(UInt64(try integer(UInt32.self)))
        case .uint64: return .unsigned(try integer(UInt64.self))
        case .int16: return .signed(Int64(try integer(Int16.self)))
        case .int32: return .signed(Int64(try integer(Int32.self)))
        case .int64: return .signed(try integer(Int64.self))
        case .double: return .double(Double(bitPattern: try integer(UInt64.self)))
        case .boolean:
            let number = try integer(UInt32.self)
            guard number <= 1 else { throw .malformed }
            return .boolean(number == 1)
        case .string, .objectPath:
            let length = try integer(UInt32.self)
            return .string(try text(Int(length)))
        case .signature: return .string(try text(Int(try integer(UInt8.self))))
        case .variant:
            let types = try DBusType.types(in: try text(Int(try integer(UInt8.self))))
            guard types.count == 1 else { throw .malformed }
            return try value(types[0], depth: depth + 1)
        case .array(let element): return try array(element, depth: depth + 1)
        case .structure(let members):
            try align(8)
            var values: [DBusValue] = []
            for member in members { values.append(try value(member, depth: depth + 1)) }
            return .list(values)
        case .entry(let key, let type):
            try align(8)
            let name = try value(key, depth: depth + 1)
            return .entry(name, try value(type, depth: depth + 1))
        }
    }

    private mutating func array(_ element: DBusType, depth: Int) throws(DBusError) -> DBusValue {
        let length = Int(try integer(UInt32.self))
        try align(element.alignment)
        guard length <= bytes.count - offset else { throw .malformed }
        let end = offset + length
        var values: [DBusValue] = []
        // Each element takes at least one byte, so that the loop ends.
        while offset < end { values.append(try value(element, depth: depth)) }
        guard offset == end else { throw .malformed }
        return .list(values)
    }
}
