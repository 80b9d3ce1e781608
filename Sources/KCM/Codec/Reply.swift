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

/// The code in a reply: zero, or what libkrb5 gives its caller as the error.
///
/// ``unsupported``, `KRB5_CC_IO` and `KRB5_CC_NOSUPP` make the client do the same thing the old way: slower, and not atomic. So a refusal
/// never has one of them, and the last two are not here.
package struct ReplyCode: RawRepresentable, Error, Hashable, Sendable {
    package let rawValue: Int32

    package init(rawValue: Int32) { self.rawValue = rawValue }

    /// Done.
    package static let ok = ReplyCode(rawValue: 0)
    /// A name that this user may not create. The corresponding C error is `KRB5_CC_BADNAME`.
    package static let badName = ReplyCode(rawValue: -1_765_328_245)
    /// No such credential. The corresponding C error is `KRB5_CC_NOTFOUND`.
    package static let notFound = ReplyCode(rawValue: -1_765_328_243)
    /// The credential or the cache is gone; an iteration skips it or ends. The corresponding C error is `KRB5_CC_END`.
    package static let end = ReplyCode(rawValue: -1_765_328_242)
    /// Not permitted: the system's own `EACCES`. Programs print it as “Permission denied”; the text of `KRB5_FCC_PERM` would have the user
    /// look for the fault in the mode of a file.
    package static let notPermitted = ReplyCode(rawValue: 13)
    /// No such cache. The corresponding C error is `KRB5_FCC_NOFILE`.
    package static let noCache = ReplyCode(rawValue: -1_765_328_189)
    /// The operation is not known here: the client does without. The corresponding C error is `KRB5_FCC_INTERNAL`.
    package static let unsupported = ReplyCode(rawValue: -1_765_328_188)
    /// The credential could not be written. The corresponding C error is `KRB5_CC_WRITE`.
    package static let writeFailed = ReplyCode(rawValue: -1_765_328_187)
    /// A user has as many caches or tickets as are permitted: the system's own `EDQUOT`. Programs print it as “Disk quota exceeded”; the
    /// text of `KRB5_CC_NOMEM` would have the user look for memory.
    package static let quotaExceeded = ReplyCode(rawValue: 122)
    /// The server has no room for more connections or bytes now. The corresponding C error is `KRB5_CC_NOMEM`.
    package static let limitReached = ReplyCode(rawValue: -1_765_328_186)
    /// The request is malformed. The corresponding C error is `KRB5_CC_FORMAT`.
    package static let malformed = ReplyCode(rawValue: -1_765_328_185)
}
