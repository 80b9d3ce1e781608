/// Reads values out of the bytes of a message, which begin where every alignment begins. What leads beyond the end is malformed.
struct DBusReader {
    private let bytes: [UInt8]
    private let isBigEndian: Bool
    private(set) var offset = 0

    init(_ bytes: [UInt8], isBigEndian: Bool) {
        self.bytes = bytes
        self.isBigEndian = isBigEndian
    }

    var isAtEnd: Bool { offset == bytes.count }

    /// Passes over padding, which is zero.
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

    /// A text of a length that stands before it, with a zero behind it.
    private mutating func text(_ length: Int) throws(DBusError) -> String {
        let bytes = try take(length)
        guard try take(1).first == 0, !bytes.contains(0), let text = String(validating: bytes, as: UTF8.self) else { throw .malformed }
        return text
    }

    /// - Parameter depth: In how many containers it stands.
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
        // Each element takes a byte at least: it comes to an end.
        while offset < end { values.append(try value(element, depth: depth)) }
        guard offset == end else { throw .malformed }
        return .list(values)
    }
}
