/// Cuts the bytes of a connection into requests: each is a length of four bytes and as many bytes.
///
/// Memory grows with what has arrived and never with what a length announces. The whole work is linear in the bytes, however they are cut.
/// Keys are among the bytes, so no copy is left behind in memory that is given up.
package struct FrameDecoder: Sendable {
    /// What a connection's bytes come to.
    package struct Frame: Hashable, Sendable {
        /// The request, from its version on; none where it was refused. Keys are among them: who has the only copy overwrites it.
        package var bytes: [UInt8]
        /// The operation of a request that was too long, or that there was no room for. Its bytes were skipped; the next request follows.
        package let refusedOperation: UInt16?

        static func request(_ bytes: [UInt8]) -> Frame { Frame(bytes: bytes, refusedOperation: nil) }

        static func refused(operation: UInt16) -> Frame { Frame(bytes: [], refusedOperation: operation) }
    }

    /// The largest request and the largest reply, `MAX_REPLY_SIZE` of libkrb5: it refuses a larger reply, so a larger ticket could never
    /// be given back.
    package static let maximumLength = 10 << 20

    private let maximumLength: Int
    private var buffer: [UInt8] = []
    private var consumed = 0
    /// How many bytes of a refused request are still to come.
    private var skipped = 0
    /// The operation of a refused request that was not returned yet.
    private var refused: UInt16?

    package init(maximumLength: Int = FrameDecoder.maximumLength) { self.maximumLength = maximumLength }

    /// How many bytes are kept: whole requests, and the beginning of the one that is arriving.
    package var waitingBytes: Int { buffer.count - consumed }

    /// Whether ``next()`` returns a request, or throws.
    package var hasNext: Bool {
        guard skipped == 0 else { return false }
        guard refused == nil else { return true }
        guard waitingBytes >= 4 else { return false }
        let length = announcedLength
        guard length > maximumLength else { return length < 4 || waitingBytes >= 4 + length }
        return waitingBytes >= 8 || hasOtherProtocol
    }

    /// Whether the version that follows the length is none of this protocol's.
    private var hasOtherProtocol: Bool { waitingBytes > 4 && buffer[consumed + 4] != Request.majorVersion }

    /// Takes what has arrived.
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

    /// Moves to a larger place, which an array would do as well but leave the old one as it is.
    private mutating func grow(by count: Int) {
        var larger: [UInt8] = []
        larger.reserveCapacity(max(waitingBytes + count, 2 * waitingBytes))
        larger.append(contentsOf: buffer[consumed...])
        buffer.wipe()
        buffer = larger
        consumed = 0
    }

    /// The next request; nil while none has arrived as a whole.
    ///
    /// - Throws: ``FrameError`` for a length that no request has, and again at each later call: the connection is to be closed.
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
            // A client of another protocol would wait for as many bytes as its first four happen to say.
            guard !hasOtherProtocol else { throw .tooLong(length) }
            refuse(length)
        }
        guard skipped == 0, let operation = refused.take() else { return nil }
        return .refused(operation: operation)
    }

    /// Refuses the request that has begun: its bytes are dropped, and the rest of them as they arrive. Whole requests stay.
    package mutating func refuseUnfinished() {
        guard skipped == 0, refused == nil, waitingBytes >= 4 else { return }
        let length = announcedLength
        guard length >= 4, waitingBytes < 4 + length else { return }
        refuse(length)
    }

    /// Drops a request of this length once its operation is known, which the answer depends on.
    private mutating func refuse(_ length: Int) {
        guard waitingBytes >= 8 else { return }
        refused = UInt16(buffer[consumed + 6]) << 8 | UInt16(buffer[consumed + 7])
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

/// Why a connection cannot go on: where its next request begins is not known any more.
package enum FrameError: Error, Hashable, Sendable {
    /// A request shorter than its version and operation.
    case tooShort(Int)
    /// A length above the limit, followed by a version that is not of this protocol.
    case tooLong(Int)
}

extension FrameError: CustomStringConvertible {
    package var description: String {
        switch self {
        case .tooShort(let length): "A request of \(length) bytes has no room for version and operation"
        case .tooLong(let length): "\(length) bytes are no length of a request of this protocol"
        }
    }
}
