/// The residual name of a credential cache, the part after `KCM:`. It may contain any byte except zero, so it is not a `String`.
package struct CacheName: Hashable, Sendable {
    package let bytes: [UInt8]

    package init(_ bytes: some Sequence<UInt8>) { self.bytes = Array(bytes) }

    package init(_ text: String) { self.init(text.utf8) }

    /// The longest name that can be created, in bytes. Because names count against the store's memory limit, their length is limited.
    package static let maximumLength = 255

    /// The empty name, which Heimdal's client sends for `KCM:` to mean the default cache.
    package static let empty = CacheName([])

    /// The user's number alone, which always means the user's default cache: Debian's Heimdal asks for `KCM:%{uid}`.
    package static func bare(user: UInt32) -> CacheName { CacheName(String(user)) }

    /// The name of a user's default cache until the user selects another one.
    ///
    /// It differs from ``bare(user:)``, because a cache with that name would be unreachable once another cache is the default.
    package static func initialPrimary(user: UInt32) -> CacheName { CacheName("\(user):default") }

    /// Whether the name begins with another user's number and a colon.
    ///
    /// The whole number is compared; user 100 is not user 1000. A number without a colon is an ordinary name, because programs use their
    /// process number as a name. Each user has a separate name space in any case.
    package func belongsToAnother(than user: UInt32) -> Bool {
        guard let owner = namedOwner else { return false }
        return !owner.elementsEqual(String(user).utf8)
    }

    /// The user whose number in canonical form and a colon begin the name; nil if the name does not begin so.
    package var owner: UInt32? {
        guard let text = namedOwner, let user = UInt32(String(decoding: text, as: UTF8.self)) else { return nil }
        return text.elementsEqual(String(user).utf8) ? user : nil
    }

    private var namedOwner: ArraySlice<UInt8>? {
        guard let colon = bytes.firstIndex(of: UInt8(ascii: ":")), colon > 0 else { return nil }
        let owner = bytes[..<colon]
        return owner.allSatisfy { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) } ? owner : nil
    }

    /// The name with a terminating zero byte, as the protocol encodes it.
    package var terminated: [UInt8] { bytes + [0] }
}

extension CacheName: CustomStringConvertible {
    package var description: String { String(decoding: bytes, as: UTF8.self) }
}

/// A 16-byte identifier of a cache or a credential in an iteration; opaque to the client.
package struct Identifier: Hashable, Sendable {
    package let high: UInt64
    package let low: UInt64

    package init(high: UInt64, low: UInt64) {
        self.high = high
        self.low = low
    }

    /// The length of an identifier in bytes.
    package static let length = 16

    init(from reader: inout ByteReader) throws(MalformedInput) {
        high = try reader.number("identifier")
        low = try reader.number("identifier")
    }

    func write(to writer: inout ByteWriter) {
        writer.write(high)
        writer.write(low)
    }
}
