/// Cuts the bytes of a bus into messages.
struct DBusFrameDecoder {
    /// No message is longer: ten thousand login sessions fit. The protocol allows 128 MiB, which any user of the bus could make us keep.
    static let maximumLength = 4 << 20

    private var bytes: [UInt8] = []

    mutating func append(_ more: some Collection<UInt8>) { bytes += more }

    /// The next whole message; nil where it has not arrived.
    mutating func next() throws(DBusError) -> DBusMessage? {
        guard bytes.count >= DBusMessage.fixedLength else { return nil }
        let length = try DBusMessage.length(bytes)
        guard length.header + length.body <= Self.maximumLength else { throw .malformed }
        guard bytes.count >= length.header + length.body else { return nil }
        let frame = Array(bytes[..<(length.header + length.body)])
        bytes.removeFirst(frame.count)
        return try DBusMessage(frame)
    }
}
