/// Sixteen bytes that name a cache or a credential in an iteration; opaque to the client.
package struct Identifier: Hashable, Sendable {
    package let high: UInt64
    package let low: UInt64

    package init(high: UInt64, low: UInt64) {
        self.high = high
        self.low = low
    }

    /// How many bytes it has.
    package static let length = 16

    init(from reader: inout ByteReader) throws(MalformedInput) {
        high = try reader.number("identifier")
        low = try reader.number("identifier")
    }

    func write(to writer: inout ByteWriter) {
        writer.write(high)
        writer.write(low)
    }
}
