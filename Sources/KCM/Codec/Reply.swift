/// The answer to a request.
package struct Reply: Hashable, Sendable {
    package let code: ReplyCode
    /// What follows the code; empty for an error.
    package let body: [UInt8]

    package init(body: [UInt8] = []) {
        code = .ok
        self.body = body
    }

    package init(code: ReplyCode) {
        self.code = code
        body = []
    }

    /// Whether libkrb5 would read it: the length counts the code too.
    package var fits: Bool { Self.fits(bodyLength: body.count) }

    static func fits(bodyLength: Int) -> Bool { bodyLength <= FrameDecoder.maximumLength - 4 }

    /// The bytes to send: length, transport code, the code, the body.
    ///
    /// The transport code is always zero: libkrb5 returns another one at once, leaves the rest of the reply in the socket, and reads that
    /// as the next reply.
    package func encoded() -> [UInt8] {
        var writer = ByteWriter(capacity: 12 + body.count)
        writer.write(UInt32(truncatingIfNeeded: 4 + body.count))
        writer.write(Int32(0))
        writer.write(code.rawValue)
        writer.write(body)
        return writer.bytes
    }
}
