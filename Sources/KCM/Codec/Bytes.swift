#if canImport(Glibc)
    internal import Glibc
#elseif canImport(Musl)
    internal import Musl
#endif

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

/// Builds bytes of big-endian numbers and counted bytes.
package struct ByteWriter: Sendable {
    /// What was written.
    package private(set) var bytes: [UInt8] = []

    package init(capacity: Int = 0) { bytes.reserveCapacity(capacity) }

    package mutating func write<Number: FixedWidthInteger>(_ number: Number) {
        for shift in stride(from: Number.bitWidth - 8, through: 0, by: -8) { bytes.append(UInt8(truncatingIfNeeded: number >> shift)) }
    }

    /// Hands the bytes over, so that nobody else has them; the writer is empty then.
    mutating func take() -> [UInt8] {
        defer { bytes = [] }
        return bytes
    }

    package mutating func write(_ part: some Collection<UInt8>) { bytes.append(contentsOf: part) }

    /// A length of four bytes and as many bytes.
    package mutating func writeCounted(_ part: some Collection<UInt8>) {
        write(UInt32(truncatingIfNeeded: part.count))
        write(part)
    }
}

/// Bytes that are not what they should be: too short, or with a length beyond their end.
package struct MalformedInput: Error, Hashable, Sendable {
    /// What was being read.
    package let field: String
    /// Where in the bytes the field begins.
    package let offset: Int
}

extension MalformedInput: CustomStringConvertible {
    package var description: String { "\(field) at byte \(offset) goes beyond the end" }
}

extension [UInt8] {
    /// Overwrites the bytes with zeros, for keys are among them and freed memory is not cleared.
    ///
    /// In place where nobody else has the array. Otherwise it has no effect: the other owner needs the bytes.
    mutating func wipe() { wipe(indices) }

    /// Overwrites a part.
    mutating func wipe(_ range: Range<Int>) {
        unsafe withUnsafeMutableBytes { bytes in
            guard let start = bytes.baseAddress, !range.isEmpty else { return }
            unsafe explicit_bzero(start.advanced(by: range.lowerBound), range.count)
        }
    }
}
