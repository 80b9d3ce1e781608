/// The name of a cache, the part behind `KCM:`: any bytes but a zero, so never a `String`.
package struct CacheName: Hashable, Sendable {
    package let bytes: [UInt8]

    package init(_ bytes: some Sequence<UInt8>) { self.bytes = Array(bytes) }

    package init(_ text: String) { self.init(text.utf8) }

    /// The longest name that is created. The store's memory is counted, and a name is a file's name later.
    package static let maximumLength = 255

    /// Heimdal's name of the default cache: its client sends it for `KCM:`.
    package static let empty = CacheName([])

    /// The name that stands for the user's default cache, and for no other: Debian's Heimdal asks for `KCM:%{uid}`.
    package static func bare(user: UInt32) -> CacheName { CacheName(String(user)) }

    /// What a user's default cache is called until the user says otherwise.
    ///
    /// It differs from ``bare(user:)``: had a cache that name, nobody could reach it once another one is the default.
    package static func initialPrimary(user: UInt32) -> CacheName { CacheName("\(user):default") }

    /// Whether the name says of itself that it is another user's: a number and a colon, and the number is not the user's.
    ///
    /// The number is compared as a whole; user 100 is not user 1000. A number alone is an ordinary name, as programs use their process
    /// number; each user has a name space of their own in any case.
    package func belongsToAnother(than user: UInt32) -> Bool {
        guard let owner = namedOwner else { return false }
        return !owner.elementsEqual(String(user).utf8)
    }

    /// The user of whom the name says that it is theirs: a number in the usual form and a colon. Nil if it says nothing of the kind.
    package var owner: UInt32? {
        guard let text = namedOwner, let user = UInt32(String(decoding: text, as: UTF8.self)) else { return nil }
        return text.elementsEqual(String(user).utf8) ? user : nil
    }

    private var namedOwner: ArraySlice<UInt8>? {
        guard let colon = bytes.firstIndex(of: UInt8(ascii: ":")), colon > 0 else { return nil }
        let owner = bytes[..<colon]
        return owner.allSatisfy { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) } ? owner : nil
    }

    /// As the protocol has it.
    package var terminated: [UInt8] { bytes + [0] }
}

extension CacheName: CustomStringConvertible {
    package var description: String { String(decoding: bytes, as: UTF8.self) }
}

/// Sixteen bytes that name a cache or a credential in an iteration; opaque to the client.
package struct Identifier: Hashable, Sendable {
    package let high: UInt64
    package let low: UInt64

    package init(high: UInt64, low: UInt64) {
        self.high = high
        self.low = low
    }

    /// How many bytes it has.
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
