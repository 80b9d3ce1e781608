/// Reads big-endian numbers and counted bytes, and never beyond the end.
///
/// What it hands out shares the memory of what it reads; who keeps a part makes a copy of it.
struct ByteReader {
    /// What was not read yet.
    private(set) var rest: ArraySlice<UInt8>
    private let start: Int

    init(_ bytes: ArraySlice<UInt8>) {
        rest = bytes
        start = bytes.startIndex
    }

    init(_ bytes: [UInt8]) { self.init(bytes[...]) }

    /// How many bytes were read.
    var offset: Int { rest.startIndex - start }

    mutating func bytes(_ count: Int, _ field: String) throws(MalformedInput) -> ArraySlice<UInt8> {
        guard count >= 0, count <= rest.count else { throw MalformedInput(field: field, offset: offset) }
        let part = rest.prefix(count)
        rest = rest.dropFirst(count)
        return part
    }

    mutating func number<Number: FixedWidthInteger>(_ field: String, as type: Number.Type = Number.self) throws(MalformedInput) -> Number {
        let part = try bytes(Number.bitWidth / 8, field)
        return Number(truncatingIfNeeded: part.reduce(UInt64(0)) { $0 << 8 | UInt64($1) })
    }

    /// A length of four bytes and as many bytes.
    mutating func countedBytes(_ field: String) throws(MalformedInput) -> ArraySlice<UInt8> {
        let begin = offset
        let count = try number(field, as: UInt32.self)
        guard Int(count) <= rest.count else { throw MalformedInput(field: field, offset: begin) }
        return try bytes(Int(count), field)
    }

    /// The bytes before the next zero, which is read too.
    mutating func terminatedBytes(_ field: String) throws(MalformedInput) -> ArraySlice<UInt8> {
        guard let end = rest.firstIndex(of: 0) else { throw MalformedInput(field: field, offset: offset) }
        let part = rest[..<end]
        rest = rest[(end + 1)...]
        return part
    }
}
