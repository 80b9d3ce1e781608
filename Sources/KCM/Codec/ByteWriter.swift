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
