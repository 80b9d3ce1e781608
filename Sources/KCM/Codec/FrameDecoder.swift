/// Splits the bytes of a connection into requests, each of which has a four-byte length prefix.
///
/// Memory use grows with the bytes that have arrived, never with an announced length. The total work is linear in the number of bytes,
/// however they are split. Because the bytes contain keys, no copy is left behind in freed memory.
package struct FrameDecoder: Sendable {
    /// A complete request, or a request that was refused.
    package struct Frame: Hashable, Sendable {
        /// The request, starting at its version; only its beginning if it was refused. Because it contains keys, the owner of the only copy
        /// overwrites it.
        package var bytes: [UInt8]
        /// The length of a request that was too long, or for which there was no room. Its bytes were skipped; the next request follows.
        package let refusedLength: Int?

        /// The operation of a refused request.
        package var refusedOperation: UInt16? { refusedLength == nil ? nil : UInt16(bytes[2]) << 8 | UInt16(bytes[3]) }

        static func request(_ bytes: [UInt8]) -> Frame { Frame(bytes: bytes, refusedLength: nil) }

        static func refused(_ beginning: [UInt8], length: Int) -> Frame { Frame(bytes: beginning, refusedLength: length) }
    }

    /// The length of the beginning of a request that is too long: its operation, and what ``ReplacementOutline`` reads.
    package static let beginningLength = 4096

    /// The length limit of requests and replies, `MAX_REPLY_SIZE` of libkrb5. Because libkrb5 rejects a larger reply, a larger ticket could
    /// never be returned.
    package static let maximumLength = 10 << 20

    private let maximumLength: Int
    private var buffer: [UInt8] = []
    private var consumed = 0
    /// The number of bytes of a refused request that have not arrived yet.
    private var skipped = 0
    /// A refused request that ``next()`` has not returned yet.
    private var refused: Frame?

    package init(maximumLength: Int = FrameDecoder.maximumLength) { self.maximumLength = maximumLength }

    /// The number of buffered bytes: complete requests, and the beginning of the next one.
    package var waitingBytes: Int { buffer.count - consumed }

    /// Whether ``next()`` would return a request or throw.
    package var hasNext: Bool {
        guard skipped == 0 else { return false }
        guard refused == nil else { return true }
        guard waitingBytes >= 4 else { return false }
        let length = announcedLength
        guard length > maximumLength else { return length < 4 || waitingBytes >= 4 + length }
        return waitingBytes >= 4 + min(length, Self.beginningLength) || hasOtherProtocol
    }

    /// Whether the version that follows the length is not this protocol's version.
    private var hasOtherProtocol: Bool { waitingBytes > 4 && buffer[consumed + 4] != Request.majorVersion }

    /// Appends bytes that have arrived.
    package mutating func append(_ bytes: some Collection<UInt8>) {
        guard skipped > 0 else { return keep(bytes) }
        let count = min(skipped, bytes.count)
        skipped -= count
        keep(bytes.dropFirst(count))
    }

    private mutating func keep(_ bytes: some Collection<UInt8>) {
        if buffer.count + bytes.count > buffer.capacity { grow(by: bytes.count) }
        buffer.append(contentsOf: bytes)
    }

    /// Moves the bytes to a larger buffer and wipes the old one. Growing the array itself would leave the old bytes in freed memory.
    private mutating func grow(by count: Int) {
        var larger: [UInt8] = []
        larger.reserveCapacity(max(waitingBytes + count, 2 * waitingBytes))
        larger.append(contentsOf: buffer[consumed...])
        buffer.wipe()
        buffer = larger
        consumed = 0
    }

    /// Returns the next request; nil until one has arrived completely.
    ///
    /// - Throws: ``FrameError`` for a length that no request has. Every later call throws it again; close the connection.
    package mutating func next() throws(FrameError) -> Frame? {
        if skipped == 0, refused == nil, waitingBytes >= 4 {
            let length = announcedLength
            guard length >= 4 else { throw .tooShort(length) }
            if length <= maximumLength {
                guard waitingBytes >= 4 + length else { return nil }
                let frame = Array(buffer[consumed + 4..<consumed + 4 + length])
                consume(4 + length)
                return .request(frame)
            }
            // A client of another protocol would wait until as many bytes have arrived as its first four bytes happen to encode.
            guard !hasOtherProtocol else { throw .tooLong(length) }
            refuse(length, keeping: min(length, Self.beginningLength))
        }
        return skipped == 0 ? refused.take() : nil
    }

    /// Refuses the request that has partly arrived: drops its bytes now, and the remaining ones as they arrive. Complete requests stay.
    package mutating func refuseUnfinished() {
        guard skipped == 0, refused == nil, waitingBytes >= 4 else { return }
        let length = announcedLength
        guard length >= 4, waitingBytes < 4 + length else { return }
        refuse(length, keeping: 4)
    }

    /// Drops a request of this length once its beginning has arrived, because the reply depends on the beginning.
    private mutating func refuse(_ length: Int, keeping beginning: Int) {
        guard waitingBytes >= 4 + beginning else { return }
        refused = .refused(Array(buffer[consumed + 4..<consumed + 4 + beginning]), length: length)
        let present = min(waitingBytes, 4 + length)
        skipped = 4 + length - present
        consume(present)
    }

    private var announcedLength: Int { buffer[consumed..<consumed + 4].reduce(0) { $0 << 8 | Int($1) } }

    private mutating func consume(_ count: Int) {
        buffer.wipe(consumed..<consumed + count)
        consumed += count
        dropConsumed()
    }

    /// Moves the remaining bytes to the front once half of the buffer is consumed, so that each byte moves once on average.
    private mutating func dropConsumed() {
        if consumed == buffer.count {
            // Frees the memory of a large request instead of holding it until the connection closes.
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

/// An error after which the start of the next request is unknown, so that the connection cannot continue.
package enum FrameError: Error, Hashable, Sendable {
    /// The length is too short for a version and an operation.
    case tooShort(Int)
    /// The length exceeds the limit, and the version that follows is not this protocol's.
    case tooLong(Int)
}
