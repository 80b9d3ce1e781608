/// Cuts the bytes of a connection into requests: each is a length of four bytes and as many bytes.
///
/// Memory grows with what has arrived and never with what a length announces. The whole work is linear in the bytes, however they are cut.
/// Keys are among the bytes, so no copy is left behind in memory that is given up.
package struct FrameDecoder: Sendable {
    /// The largest request and the largest reply, `MAX_REPLY_SIZE` of libkrb5: it refuses a larger reply, so a larger ticket could never
    /// be given back.
    package static let maximumLength = 10 << 20

    private let maximumLength: Int
    private var buffer: [UInt8] = []
    private var consumed = 0
    /// How many bytes of a request are to come that was refused.
    private var skipped = 0
    private var hasRefused = false

    package init(maximumLength: Int = FrameDecoder.maximumLength) { self.maximumLength = maximumLength }

    /// How many bytes wait for the rest of their request.
    package var waitingBytes: Int { buffer.count - consumed }

    /// Takes what has arrived.
    package mutating func append(_ bytes: some Collection<UInt8>) {
        guard skipped > 0 else { return keep(bytes) }
        let count = min(skipped, bytes.count)
        skipped -= count
        hasRefused = skipped == 0
        keep(bytes.dropFirst(count))
    }

    private mutating func keep(_ bytes: some Collection<UInt8>) {
        if buffer.count + bytes.count > buffer.capacity { grow(by: bytes.count) }
        buffer.append(contentsOf: bytes)
    }

    /// Moves to a larger place, which an array would do as well but leave the old one as it is.
    private mutating func grow(by count: Int) {
        var larger: [UInt8] = []
        larger.reserveCapacity(max(waitingBytes + count, 2 * waitingBytes))
        larger.append(contentsOf: buffer[consumed...])
        buffer.wipe()
        buffer = larger
        consumed = 0
    }

    /// The next whole request, from its version on; nil while it has not arrived. An empty one stands for a request that was refused.
    ///
    /// - Throws: ``FrameError`` for a length that no request has, and again at each later call: the connection is to be closed.
    package mutating func next() throws(FrameError) -> [UInt8]? {
        if hasRefused {
            hasRefused = false
            return []
        }
        guard let length = try announcedLength(), waitingBytes >= 4 + length else { return nil }
        let frame = Array(buffer[consumed + 4..<consumed + 4 + length])
        buffer.wipe(consumed..<consumed + 4 + length)
        consumed += 4 + length
        dropConsumed()
        return frame
    }

    /// Gives up the request that has begun: its bytes go, and the rest of them as they come. Whole requests stay.
    package mutating func refuseUnfinished() {
        guard let length = try? announcedLength(), waitingBytes < 4 + length else { return }
        skipped = 4 + length - waitingBytes
        buffer.wipe()
        buffer = []
        consumed = 0
    }

    private func announcedLength() throws(FrameError) -> Int? {
        guard waitingBytes >= 4 else { return nil }
        let length = buffer[consumed..<consumed + 4].reduce(0) { $0 << 8 | Int($1) }
        guard length >= 4 else { throw .tooShort(length) }
        guard length <= maximumLength else { throw .tooLong(length) }
        return length
    }

    /// Moves the rest to the front once half is consumed, so that each byte moves once on average.
    private mutating func dropConsumed() {
        if consumed == buffer.count {
            // A large request does not keep its memory for as long as the connection lives.
            buffer.removeAll(keepingCapacity: buffer.count <= 1 << 16)
            consumed = 0
        } else if consumed > buffer.count / 2 {
            let rest = waitingBytes
            for place in 0..<rest { buffer[place] = buffer[consumed + place] }
            buffer.wipe(rest..<buffer.count)
            buffer.removeLast(consumed)
            consumed = 0
        }
    }
}
