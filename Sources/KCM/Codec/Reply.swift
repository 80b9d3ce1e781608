/// The answer to a request.
package struct Reply: Hashable, Sendable {
    package let code: ReplyCode
    /// What follows the code; empty for an error.
    package private(set) var body: [UInt8]
    /// Whether nobody else has the body, so that keys in it would be left behind.
    private let isOnlyCopy: Bool

    package init(body: [UInt8] = []) { self.init(body: body, isOnlyCopy: false) }

    init(body: [UInt8], isOnlyCopy: Bool) {
        code = .ok
        self.body = body
        self.isOnlyCopy = isOnlyCopy
    }

    package init(code: ReplyCode) {
        self.code = code
        body = []
        isOnlyCopy = false
    }

    package static func == (one: Reply, other: Reply) -> Bool { one.code == other.code && one.body == other.body }

    package func hash(into hasher: inout Hasher) {
        hasher.combine(code)
        hasher.combine(body)
    }

    /// Overwrites the keys in a body that goes with the reply; that of a single credential is the store's own.
    mutating func wipe() { if isOnlyCopy { body.wipe() } }

    /// Whether libkrb5 would read it: the length counts the code too.
    package var fits: Bool { body.count <= Self.maximumBodyLength }

    /// The longest body that libkrb5 reads.
    package static let maximumBodyLength = FrameDecoder.maximumLength - 4

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
