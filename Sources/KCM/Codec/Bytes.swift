#if canImport(Glibc)
    internal import Glibc
#elseif canImport(Musl)
    internal import Musl
#endif

/// Reads big-endian integers and length-prefixed byte strings, and never reads past the end.
///
/// The slices that it returns share the input's memory; copy a slice to keep it longer than the input.
struct ByteReader {
    /// The bytes that have not been read yet.
    private(set) var rest: ArraySlice<UInt8>
    private let start: Int

    init(_ bytes: ArraySlice<UInt8>) {
        rest = bytes
        start = bytes.startIndex
    }

    init(_ bytes: [UInt8]) { self.init(bytes[...]) }

    /// The number of bytes read so far.
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

    /// Reads a four-byte length and that many bytes.
    mutating func countedBytes(_ field: String) throws(MalformedInput) -> ArraySlice<UInt8> {
        let begin = offset
        let count = try number(field, as: UInt32.self)
        guard Int(count) <= rest.count else { throw MalformedInput(field: field, offset: begin) }
        return try bytes(Int(count), field)
    }

    /// Reads the bytes up to the next zero byte, and consumes the zero byte.
    mutating func terminatedBytes(_ field: String) throws(MalformedInput) -> ArraySlice<UInt8> {
        guard let end = rest.firstIndex(of: 0) else { throw MalformedInput(field: field, offset: offset) }
        let part = rest[..<end]
        rest = rest[(end + 1)...]
        return part
    }
}

/// Encodes big-endian integers and length-prefixed byte strings.
package struct ByteWriter: Sendable {
    /// The bytes written so far.
    package private(set) var bytes: [UInt8] = []

    package init(capacity: Int = 0) { bytes.reserveCapacity(capacity) }

    package mutating func write<Number: FixedWidthInteger>(_ number: Number) {
        for shift in stride(from: Number.bitWidth - 8, through: 0, by: -8) { bytes.append(UInt8(truncatingIfNeeded: number >> shift)) }
    }

    /// Returns the bytes and empties the writer, so that the caller holds the only reference.
    mutating func take() -> [UInt8] {
        defer { bytes = [] }
        return bytes
    }

    package mutating func write(_ part: some Collection<UInt8>) { bytes.append(contentsOf: part) }

    /// Writes a four-byte length and that many bytes.
    package mutating func writeCounted(_ part: some Collection<UInt8>) {
        write(UInt32(truncatingIfNeeded: part.count))
        write(part)
    }
}

/// An input that ends before a field is complete, or contains a length that reaches past its end.
package struct MalformedInput: Error, Hashable, Sendable {
    /// The name of the field that was being read.
    package let field: String
    /// The byte offset at which the field begins.
    package let offset: Int
}

extension MalformedInput: CustomStringConvertible {
    package var description: String { "\(field) at byte \(offset) extends past the end" }
}

extension [UInt8] {
    /// Overwrites the bytes with zeros, because they contain keys and freed memory is not cleared.
    ///
    /// Works in place if this array is the only reference to its storage. Otherwise it has no effect, because the other owner needs the
    /// bytes.
    mutating func wipe() { wipe(indices) }

    /// Overwrites a range of the bytes with zeros.
    mutating func wipe(_ range: Range<Int>) {
        unsafe withUnsafeMutableBytes { bytes in
            guard let start = bytes.baseAddress, !range.isEmpty else { return }
            unsafe explicit_bzero(start.advanced(by: range.lowerBound), range.count)
        }
    }
}
