/// What stands before the credentials of a cache file: version 4 of the format, with a tag of our own that libkrb5 skips.
struct CacheFileHeader: Hashable {
    /// The cache; no part of the format, which knows no names.
    var name: CacheName
    /// The later of two files of one cache has the higher one.
    var generation: UInt64
    /// Random, so that no credential that a client stores is taken for a ``Tombstone`` of this file.
    var mark: UInt64
    /// By how many seconds the KDC's clock is ahead.
    var clockOffset: Int32
    var principal: MarshalledPrincipal

    private static let version: UInt16 = 0x0504
    /// The format's own tag: seconds and microseconds.
    private static let offsetTag: UInt16 = 1
    private static let ownTag: UInt16 = 0x4B53

    /// Where the eight bytes of the offset begin, which are changed in place.
    static let offsetPosition = 8

    static func encoded(clockOffset: Int32) -> [UInt8] {
        var writer = ByteWriter(capacity: 8)
        writer.write(clockOffset)
        writer.write(Int32(0))
        return writer.bytes
    }

    private var ownLength: Int { 16 + name.bytes.count }
    private var tagsLength: Int { 4 + 8 + 4 + ownLength }

    /// How many bytes it takes, with the principal.
    var length: Int { 4 + tagsLength + principal.bytes.count }

    func write(to writer: inout ByteWriter) {
        writer.write(Self.version)
        writer.write(UInt16(truncatingIfNeeded: tagsLength))
        writer.write(Self.offsetTag)
        writer.write(UInt16(8))
        writer.write(Self.encoded(clockOffset: clockOffset))
        writer.write(Self.ownTag)
        writer.write(UInt16(truncatingIfNeeded: ownLength))
        writer.write(generation)
        writer.write(mark)
        writer.write(name.bytes)
        writer.write(principal.bytes)
    }
}

extension CacheFileHeader {
    /// Reads the header of a file that ``write(to:)`` began.
    init(from reader: inout ByteReader) throws(MalformedInput) {
        let version = try reader.number("version", as: UInt16.self)
        guard version == Self.version else { throw MalformedInput(field: "version", offset: 0) }
        let length = try reader.number("header", as: UInt16.self)
        var tags = ByteReader(try reader.bytes(Int(length), "header"))
        var offset: Int32?
        var own: (generation: UInt64, mark: UInt64, name: CacheName)?
        while !tags.rest.isEmpty {
            let tag = try tags.number("tag", as: UInt16.self)
            var value = ByteReader(try tags.bytes(Int(try tags.number("tag", as: UInt16.self)), "tag"))
            switch tag {
            case Self.offsetTag: offset = try value.number("clock offset")
            case Self.ownTag: own = (try value.number("generation"), try value.number("mark"), CacheName(value.rest))
            default: break
            }
        }
        guard let offset, let own else { throw MalformedInput(field: "header", offset: reader.offset) }
        let principal = try MarshalledPrincipal(from: &reader).detached()
        self.init(name: own.name, generation: own.generation, mark: own.mark, clockOffset: offset, principal: principal)
    }
}
