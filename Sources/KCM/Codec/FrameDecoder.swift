/// Cuts the bytes of a connection into requests: each is a length of four bytes and as many bytes.
///
/// Memory grows with what has arrived and never with what a length announces. The whole work is linear in the bytes, however they are cut.
package struct FrameDecoder: Sendable {
    /// The largest request and the largest reply, `MAX_REPLY_SIZE` of libkrb5: it refuses a larger reply, so a larger ticket could never
    /// be given back.
    package static let maximumLength = 10 << 20

    private let maximumLength: Int
    private var buffer: [UInt8] = []
    private var consumed = 0

    package init(maximumLength: Int = FrameDecoder.maximumLength) { self.maximumLength = maximumLength }

    /// How many bytes wait for the rest of their request.
    package var waitingBytes: Int { buffer.count - consumed }

    /// Takes what has arrived.
    package mutating func append(_ bytes: some Sequence<UInt8>) { buffer.append(contentsOf: bytes) }

    /// The next whole request, from its version on; nil while it has not arrived.
    ///
    /// - Throws: ``FrameError`` for a length that no request has, and again at each later call: the connection is to be closed.
    package mutating func next() throws(FrameError) -> [UInt8]? {
        guard waitingBytes >= 4 else { return nil }
        let length = buffer[consumed..<consumed + 4].reduce(0) { $0 << 8 | Int($1) }
        guard length >= 4 else { throw .tooShort(length) }
        guard length <= maximumLength else { throw .tooLong(length) }
        guard waitingBytes >= 4 + length else { return nil }
        let frame = Array(buffer[consumed + 4..<consumed + 4 + length])
        consumed += 4 + length
        dropConsumed()
        return frame
    }

    /// Moves the rest to the front once half is consumed, so that each byte moves once on average.
    private mutating func dropConsumed() {
        if consumed == buffer.count {
            // A large request does not keep its memory for as long as the connection lives.
            buffer.removeAll(keepingCapacity: buffer.count <= 1 << 16)
            consumed = 0
        } else if consumed > buffer.count / 2 {
            buffer.removeFirst(consumed)
            consumed = 0
        }
    }
}
