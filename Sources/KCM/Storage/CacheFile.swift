/// The file of one cache, to whose end records are written.
///
/// It is open only while it is used, so that there can be more caches than the process may have open files.
final class CacheFile {
    private let directory: OpenDirectory
    /// The number in the file's name, by which files are in the order in which the caches came.
    let number: UInt64
    var name: String { UserStorage.name(number) }
    private(set) var header: CacheFileHeader
    private let headerLength: Int
    private(set) var size: Int
    /// The serial numbers of the records that the file began with, where they are not consecutive.
    private let early: [UInt64]
    /// The serial number of the first record after those.
    private let firstSerial: UInt64
    /// Where each record begins; tombstones are left out.
    private var offsets: [Int]
    /// Whether more than `size` bytes are there, for they could not be cut off.
    private var hasRest = false
    /// Below this size it is not compacted: a failed attempt puts it up.
    var compactionFloor = 16 << 10

    init(
        in directory: OpenDirectory,
        number: UInt64,
        header: CacheFileHeader,
        headerLength: Int,
        size: Int,
        offsets: [Int],
        early: [UInt64] = [],
        firstSerial: UInt64 = 1
    ) {
        self.directory = directory
        self.number = number
        self.header = header
        self.headerLength = headerLength
        self.size = size
        self.offsets = offsets
        self.early = early
        self.firstSerial = firstSerial
    }

    /// The bytes of records that are of no use any more, where the cache's own take `live` bytes.
    func deadBytes(live: Int) -> Int { size - headerLength - live }

    /// Writes a credential to the end. A failure leaves the file as it was.
    func append(_ credential: MarshalledCredential) throws(StorageError) {
        let start = size
        try append(credential.bytes)
        offsets.append(start)
    }

    private func append(_ record: [UInt8]) throws(StorageError) {
        let file = try directory.open(name)
        if hasRest {
            try file.truncate(to: size)
            hasRest = false
        }
        do {
            try file.write(record, at: size)
        } catch {
            hasRest = (try? file.truncate(to: size)) == nil
            throw error
        }
        size += record.count
    }

    /// Writes which credentials are gone.
    func appendRemoval(of serials: [UInt64]) throws(StorageError) {
        try append(Tombstone.encoded(serials.compactMap(recordNumber), mark: header.mark, principal: header.principal))
    }

    private func recordNumber(of serial: UInt64) -> UInt64? {
        guard serial < firstSerial else { return UInt64(early.count) + serial - firstSerial }
        return early.position(of: serial).map { UInt64($0) }
    }

    /// Overwrites the keys and the tickets of credentials that are gone, once that is written; the records' form stays. Their times say
    /// that they are gone to libkrb5 too, which knows nothing of a ``Tombstone``.
    ///
    /// Whenever the process ends meanwhile, the records count as gone. Where it fails the bytes are there until the file is written anew.
    func wipeSecrets(of gone: [(serial: UInt64, credential: MarshalledCredential)]) {
        // One request may remove thousands.
        guard !gone.isEmpty, let file = try? directory.open(name) else { return }
        for (serial, credential) in gone {
            guard let number = recordNumber(of: serial).flatMap({ Int(exactly: $0) }), offsets.indices.contains(number),
                var present = try? file.read(credential.bytes.count, at: offsets[number])
            else { continue }
            defer { present.wipe() }
            // Nothing else is ever overwritten, whatever the numbers say.
            guard present == credential.bytes else { continue }
            file.write(credential.erasures.map { $0.moved(by: offsets[number]) })
        }
    }

    /// Takes back what was appended since the file had this size.
    func cut(to size: Int) {
        self.size = size
        while let last = offsets.last, last >= size { offsets.removeLast() }
        do { try directory.open(name).truncate(to: size) } catch { hasRest = true }
    }

    func setClockOffset(_ offset: Int32) throws(StorageError) {
        try directory.open(name).write(CacheFileHeader.encoded(clockOffset: offset), at: CacheFileHeader.offsetPosition)
        header.clockOffset = offset
    }
}

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

/// A record that says which records before it are gone, so that a removal is an append too.
///
/// It has the form of a setting, which klist does not show. Records are counted from zero, without the tombstones.
struct Tombstone {
    private static let server: [UInt8] = {
        var writer = ByteWriter()
        writer.write(UInt32(0))
        writer.write(UInt32(2))
        writer.writeCounted(Array("X-CACHECONF:".utf8))
        writer.writeCounted(Array("krb5_ccache_conf_data".utf8))
        writer.writeCounted(Array("removed".utf8))
        return writer.bytes
    }()

    /// The record, with the mark of its file.
    static func encoded(_ numbers: [UInt64], mark: UInt64, principal: MarshalledPrincipal) -> [UInt8] {
        var writer = ByteWriter()
        writer.write(principal.bytes)
        writer.write(server)
        // Neither key nor times nor flags, neither addresses nor authorization data.
        writer.write([UInt8](repeating: 0, count: 2 + 4 + 4 * 4 + 1 + 4 + 4 + 4))
        var value = ByteWriter(capacity: 8 + 8 * numbers.count)
        value.write(mark)
        for number in numbers { value.write(number) }
        writer.writeCounted(value.bytes)
        writer.write(UInt32(0))
        return writer.bytes
    }

    /// The numbers in a record; nil where it is none, or of another file.
    static func numbers(_ record: MarshalledCredential, mark: UInt64) -> [UInt64]? {
        guard record.server.bytes.elementsEqual(server) else { return nil }
        var reader = ByteReader(record.ticket)
        guard let found = try? reader.number("mark", as: UInt64.self), found == mark else { return nil }
        var numbers: [UInt64] = []
        while let number = try? reader.number("number", as: UInt64.self) { numbers.append(number) }
        return numbers
    }
}

/// What the bytes of a cache file come to.
struct RecoveredCache {
    let header: CacheFileHeader
    let cache: CredentialCache
    /// How far the records are whole; what follows was being written when the server ended, and nobody was told that it is kept.
    let length: Int
    /// How long the header is.
    let headerLength: Int
    /// Where each record begins; tombstones are left out.
    let offsets: [Int]
    /// What of records that are gone was not overwritten before the server ended.
    let remains: [Erasure]

    /// Reads a file up to its last whole record.
    ///
    /// - Throws: ``MalformedInput`` where not even the header is whole. No file comes under its name before its header is.
    init(_ bytes: [UInt8]) throws(MalformedInput) {
        var reader = ByteReader(bytes)
        header = try CacheFileHeader(from: &reader)
        headerLength = reader.offset
        var cache = CredentialCache(name: header.name, principal: header.principal)
        cache.clockOffset = header.clockOffset
        var length = reader.offset
        var offsets: [Int] = []
        var erasures: [[Erasure]] = []
        while !reader.rest.isEmpty, let record = try? MarshalledCredential(from: &reader), !record.isBlank {
            let start = length
            length = reader.offset
            guard let numbers = Tombstone.numbers(record, mark: header.mark) else {
                var examined = 0
                cache.store(record, replacing: cache.list.serial(repeatedBy: record, examined: &examined))
                offsets.append(start)
                let left = record.erasures.filter { !record.bytes[$0.offset...].starts(with: $0.bytes) }
                erasures.append(left.map { $0.moved(by: start) })
                // It is gone, even where a power failure took the record that says so.
                if record.isWiped { cache.list.remove(UInt64(offsets.count)) }
                continue
            }
            // The first record has the serial number one.
            for number in numbers where number < .max { cache.list.remove(number + 1) }
        }
        remains = erasures.indices.filter { cache.list[UInt64($0) + 1] == nil }.flatMap { erasures[$0] }
        self.offsets = offsets
        self.cache = cache
        self.length = length
    }
}

extension MarshalledCredential {
    /// Whether it is nothing but zeros, as a file may have at its end after a power failure.
    fileprivate var isBlank: Bool { client.bytes.allSatisfy { $0 == 0 } && server.bytes.allSatisfy { $0 == 0 } }
}
