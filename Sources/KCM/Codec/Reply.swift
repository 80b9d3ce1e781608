/// The reply to a request.
package struct Reply: Hashable, Sendable {
    package let code: ReplyCode
    /// The bytes after the code; empty for an error.
    package private(set) var body: [UInt8]
    /// Whether this reply holds the only reference to the body, so that the body must be wiped.
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

    /// Overwrites the keys in a body that only this reply holds. The body of a single credential is shared with the store.
    mutating func wipe() { if isOnlyCopy { body.wipe() } }

    /// Whether libkrb5 accepts a reply of this length; its limit includes the code.
    package var fits: Bool { body.count <= Self.maximumBodyLength }

    /// The longest body that libkrb5 accepts.
    package static let maximumBodyLength = FrameDecoder.maximumLength - 4
}

/// The code in a reply: zero, or the error that libkrb5 returns to its caller.
///
/// On ``unsupported``, `KRB5_CC_IO` and `KRB5_CC_NOSUPP` the client falls back to older operations, which are slower and not atomic. So a
/// refusal never uses one of them, and the last two are not defined here.
package struct ReplyCode: RawRepresentable, Error, Hashable, Sendable {
    package let rawValue: Int32

    package init(rawValue: Int32) { self.rawValue = rawValue }

    /// Success.
    package static let ok = ReplyCode(rawValue: 0)
    /// This user may not create a cache with this name. The corresponding C error is `KRB5_CC_BADNAME`.
    package static let badName = ReplyCode(rawValue: -1_765_328_245)
    /// No such credential. The corresponding C error is `KRB5_CC_NOTFOUND`.
    package static let notFound = ReplyCode(rawValue: -1_765_328_243)
    /// The credential or the cache no longer exists; an iteration skips it or ends. The corresponding C error is `KRB5_CC_END`.
    package static let end = ReplyCode(rawValue: -1_765_328_242)
    /// The caller is not permitted: the system's `EACCES`, which programs print as “Permission denied”. The text of `KRB5_FCC_PERM` would
    /// suggest that a file's mode is wrong.
    package static let notPermitted = ReplyCode(rawValue: 13)
    /// No such cache. The corresponding C error is `KRB5_FCC_NOFILE`.
    package static let noCache = ReplyCode(rawValue: -1_765_328_189)
    /// The server does not implement the operation; the client falls back to others. The corresponding C error is `KRB5_FCC_INTERNAL`.
    package static let unsupported = ReplyCode(rawValue: -1_765_328_188)
    /// The change could not be written. The corresponding C error is `KRB5_CC_WRITE`.
    package static let writeFailed = ReplyCode(rawValue: -1_765_328_187)
    /// The user has reached the limit of caches or ticket memory: the system's `EDQUOT`, which programs print as “Disk quota exceeded”. The
    /// text of `KRB5_CC_NOMEM` would suggest a lack of memory.
    package static let quotaExceeded = ReplyCode(rawValue: 122)
    /// The server has no room for more connections or bytes at the moment. The corresponding C error is `KRB5_CC_NOMEM`.
    package static let limitReached = ReplyCode(rawValue: -1_765_328_186)
    /// The request is malformed. The corresponding C error is `KRB5_CC_FORMAT`.
    package static let malformed = ReplyCode(rawValue: -1_765_328_185)
}
