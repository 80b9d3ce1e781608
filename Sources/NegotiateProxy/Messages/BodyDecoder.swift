/// Finds the end of a body in the received bytes, and removes the chunked transfer coding (RFC 9112 section 7.1).
///
/// Chunk extensions are dropped. The line ends are strict: a bare LF is where implementations differ.
package struct BodyDecoder: Sendable {
    package enum Step: Sendable, Hashable {
        /// This number of bytes is next and belongs to the body.
        case content(Int)
        /// This number of bytes is next and belongs to the framing.
        case framing(Int)
        /// More bytes are required.
        case incomplete
        /// The body is complete; its last bytes have been returned.
        case end(trailers: HeadFields)
    }

    /// A line that begins a chunk, with its extensions.
    private static let maximumChunkLine = 1024
    private static let maximumTrailers = 16_384

    private enum State: Sendable {
        case content(remaining: Int)
        case chunkLine
        case chunkContent(remaining: Int)
        case chunkEnd
        /// The number of bytes that were searched for the end.
        case trailers(searched: Int)
        case untilClose
        case ended(HeadFields)
    }

    private var state: State

    package init(_ framing: BodyFraming) {
        switch framing {
        case .none, .length(0): state = .ended(HeadFields())
        case .length(let length): state = .content(remaining: length)
        case .chunked: state = .chunkLine
        case .untilClose: state = .untilClose
        }
    }

    /// Whether all bytes of the body have been returned.
    package var isComplete: Bool {
        if case .ended = state { true } else { false }
    }

    /// Whether the end of the connection is the end of the body.
    package var endsWithConnection: Bool {
        if case .untilClose = state { true } else { false }
    }

    /// Reads the next part. Call it again with the bytes that follow it.
    package mutating func next(_ bytes: some RandomAccessCollection<UInt8>) throws(MessageProblem) -> Step {
        switch state {
        case .ended(let trailers): return .end(trailers: trailers)
        case .untilClose: return bytes.isEmpty ? .incomplete : .content(bytes.count)
        case .content(let remaining):
            guard !bytes.isEmpty else { return .incomplete }
            let count = min(remaining, bytes.count)
            state = remaining == count ? .ended(HeadFields()) : .content(remaining: remaining - count)
            return .content(count)
        case .chunkContent(let remaining):
            guard !bytes.isEmpty else { return .incomplete }
            let count = min(remaining, bytes.count)
            state = remaining == count ? .chunkEnd : .chunkContent(remaining: remaining - count)
            return .content(count)
        case .chunkLine: return try chunkLine(bytes)
        case .chunkEnd:
            guard bytes.count >= 2 else { return .incomplete }
            guard bytes.prefix(2).elementsEqual([HeadParser.carriageReturn, HeadParser.lineFeed]) else {
                throw MessageProblem("a chunk does not end with CR LF")
            }
            state = .chunkLine
            return .framing(2)
        case .trailers(let searched): return try trailers(bytes, searched)
        }
    }

    private mutating func chunkLine(_ bytes: some RandomAccessCollection<UInt8>) throws(MessageProblem) -> Step {
        guard let newline = bytes.prefix(Self.maximumChunkLine).firstIndex(of: HeadParser.lineFeed) else {
            guard bytes.count < Self.maximumChunkLine else { throw MessageProblem("the line of a chunk is too long") }
            return .incomplete
        }
        let line = Array(bytes[..<newline])
        guard line.last == HeadParser.carriageReturn else { throw MessageProblem("the line of a chunk does not end with CR LF") }
        let text = line.dropLast()
        let digits = text.prefix { $0.isHexDigitByte }
        guard (1...15).contains(digits.count), let size = Int(String(decoding: digits, as: UTF8.self), radix: 16) else {
            throw MessageProblem("the size of a chunk is invalid")
        }
        let rest = text.dropFirst(digits.count)
        // Extensions begin with a semicolon, before which RFC 9112 permits blanks.
        guard rest.drop(while: \.isBlankByte).first.map({ $0 == UInt8(ascii: ";") }) ?? rest.isEmpty, rest.allSatisfy(\.isValueByte) else {
            throw MessageProblem("the size of a chunk is invalid")
        }
        state = size == 0 ? .trailers(searched: 0) : .chunkContent(remaining: size)
        return .framing(line.count + 1)
    }

    private mutating func trailers(_ bytes: some RandomAccessCollection<UInt8>, _ searched: Int) throws(MessageProblem) -> Step {
        guard let length = try HeadParser.length(of: bytes, searched: searched) else {
            guard bytes.count < Self.maximumTrailers else { throw MessageProblem("its trailers are too long") }
            state = .trailers(searched: bytes.count)
            return .incomplete
        }
        var fields = HeadFields()
        if length > 2 { fields = try HeadParser.fields(try HeadParser.lines(of: Array(bytes.prefix(length)))) }
        state = .ended(fields)
        return .framing(length)
    }
}

extension UInt8 {
    fileprivate var isHexDigitByte: Bool {
        isDigitByte || UInt8(ascii: "a")...UInt8(ascii: "f") ~= self || UInt8(ascii: "A")...UInt8(ascii: "F") ~= self
    }
}
