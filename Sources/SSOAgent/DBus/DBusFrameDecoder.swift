/// Cuts the bytes of a bus into messages. Any user of the bus can send us one, so that none of them ends the connection.
struct DBusFrameDecoder {
    /// A longer message is passed over: ten thousand login sessions fit, and nobody can make us keep more.
    static let maximumLength = 4 << 20
    /// No bus passes on a longer one (D-Bus specification, "Message Format"): where it seems to, the bytes are out of step.
    static let protocolMaximum = 128 << 20

    private var bytes: [UInt8] = []
    /// How many bytes are to come of a message that is passed over.
    private var skipped = 0

    mutating func append(_ more: some Collection<UInt8>) {
        let count = min(skipped, more.count)
        skipped -= count
        bytes += more.dropFirst(count)
    }

    /// The next whole message that can be read; nil where it has not arrived.
    ///
    /// - Throws: `DBusError.malformed` where nobody can tell at which byte the next one begins: the connection is to be closed.
    mutating func next() throws(DBusError) -> DBusMessage? {
        while let frame = try nextFrame() {
            if let message = try? DBusMessage(frame) { return message }
        }
        return nil
    }

    private mutating func nextFrame() throws(DBusError) -> [UInt8]? {
        while bytes.count >= DBusMessage.fixedLength {
            let parts = try DBusMessage.length(bytes)
            let length = parts.header + parts.body
            guard length <= Self.protocolMaximum else { throw .malformed }
            if length > Self.maximumLength {
                skipped = max(0, length - bytes.count)
                bytes.removeFirst(length - skipped)
                continue
            }
            guard bytes.count >= length else { return nil }
            defer { bytes.removeFirst(length) }
            return Array(bytes[..<length])
        }
        return nil
    }
}
