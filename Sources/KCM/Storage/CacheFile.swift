/// The file of one cache, to which records are appended.
///
/// It is open only while it is used, so that there can be more caches than the process may have open files.
final class CacheFile {
    private let directory: OpenDirectory
    /// The number in the file's name; files are numbered in the order in which the caches were created.
    let number: UInt64
    var name: String { UserStorage.name(number) }
    private(set) var header: CacheFileHeader
    private(set) var size: Int
    private var records: RecordIndex
    /// Whether the file has more than `size` bytes, because they could not be truncated.
    private var hasRest = false
    /// The size below which the file is not compacted; a failed attempt raises it.
    var compactionFloor = 16 << 10

    init(in directory: OpenDirectory, number: UInt64, header: CacheFileHeader, size: Int, records: RecordIndex) {
        self.directory = directory
        self.number = number
        self.header = header
        self.size = size
        self.records = records
    }

    /// Returns the bytes of records that are no longer used, if the cache's credentials take `live` bytes.
    func deadBytes(live: Int) -> Int { size - records.start - live }

    /// Appends a credential. If it fails, the file is unchanged.
    func append(_ credential: MarshalledCredential) throws(StorageError) {
        let start = size
        try append(credential.bytes)
        records.append(start)
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

    /// Appends a record of which credentials are removed.
    func appendRemoval(of serials: [UInt64]) throws(StorageError) {
        try append(Tombstone.encoded(serials.compactMap(records.number), mark: header.mark, principal: header.principal))
    }

    /// Overwrites the keys and tickets of removed credentials, after their ``Tombstone`` is written. The records stay readable, with times
    /// that mark them as removed for libkrb5 too, which ignores tombstones.
    ///
    /// The records count as removed even if the process is terminated in between. If overwriting fails, the bytes stay until the file is
    /// rewritten.
    func wipeSecrets(of gone: [(serial: UInt64, credential: MarshalledCredential)]) {
        guard !gone.isEmpty, let file = try? directory.open(name) else { return }
        var records: [(start: Int, credential: MarshalledCredential)] = gone.compactMap { serial, credential in
            self.records.offset(of: serial).map { ($0, credential) }
        }
        records.sort { $0.start < $1.start }
        // One request may remove thousands, so many records are read and written at once.
        var rest = records[...]
        while let first = rest.first {
            let part = rest.prefix { $0.start + $0.credential.bytes.count <= first.start + Self.partLength }
            wipeSecrets(of: part.isEmpty ? rest.prefix(1) : part, in: file)
            rest = rest.dropFirst(max(1, part.count))
        }
    }

    /// The length of the part of a file that is read and written at once, unless one record is longer.
    private static let partLength = 1 << 20

    /// Overwrites the secrets in the part of the file from the first of these records to the last one.
    private func wipeSecrets(of records: ArraySlice<(start: Int, credential: MarshalledCredential)>, in file: borrowing OpenFile) {
        guard let first = records.first, let last = records.last,
            var part = try? file.read(last.start + last.credential.bytes.count - first.start, at: first.start)
        else { return }
        defer { part.wipe() }
        for (start, credential) in records {
            let offset = start - first.start
            // Guards against wrong numbers: only the records themselves are overwritten.
            guard part[min(offset, part.count)...].starts(with: credential.bytes) else { continue }
            for erasure in credential.erasures {
                for (position, byte) in erasure.bytes.enumerated() { part[offset + erasure.offset + position] = byte }
            }
        }
        try? file.write(part, at: first.start)
    }

    /// Truncates the file to an earlier size, which undoes what was appended since.
    func cut(to size: Int) {
        self.size = size
        records.cut(to: size)
        do { try directory.open(name).truncate(to: size) } catch { hasRest = true }
    }

    func setClockOffset(_ offset: Int32) throws(StorageError) {
        try directory.open(name).write(CacheFileHeader.encoded(clockOffset: offset), at: CacheFileHeader.offsetPosition)
        header.clockOffset = offset
    }
}

/// Where the records of a cache file are, without tombstones. Records are numbered from zero; their serial numbers may not be consecutive.
struct RecordIndex {
    /// The offset of the first record, which is the length of the header.
    let start: Int
    private var offsets: [Int]
    /// The serial numbers of the records that the file was created with.
    private let early: [UInt64]
    /// The serial number of the first record after those.
    private let firstSerial: UInt64

    init(start: Int, offsets: [Int], early: [UInt64] = [], firstSerial: UInt64 = 1) {
        self.start = start
        self.offsets = offsets
        self.early = early
        self.firstSerial = firstSerial
    }

    /// Adds a record at an offset.
    mutating func append(_ offset: Int) { offsets.append(offset) }

    /// Removes the records from an offset on.
    mutating func cut(to size: Int) { while let last = offsets.last, last >= size { offsets.removeLast() } }

    /// The number of a record.
    func number(of serial: UInt64) -> UInt64? {
        guard serial < firstSerial else { return UInt64(early.count) + serial - firstSerial }
        return early.position(of: serial).map { UInt64($0) }
    }

    /// The offset of a record.
    func offset(of serial: UInt64) -> Int? {
        guard let number = number(of: serial).flatMap({ Int(exactly: $0) }), offsets.indices.contains(number) else { return nil }
        return offsets[number]
    }
}

/// The header of a cache file: version 4 of the format, with an additional tag that libkrb5 skips.
struct CacheFileHeader: Hashable {
    /// The name of the cache, which the format itself does not contain.
    var name: CacheName
    /// Of two files of one cache, the newer one has the higher generation.
    var generation: UInt64
    /// A random number, so that no credential that a client stores is mistaken for a ``Tombstone`` of this file.
    var mark: UInt64
    /// The number of seconds by which the KDC's clock is ahead.
    var clockOffset: Int32
    var principal: MarshalledPrincipal

    private static let version: UInt16 = 0x0504
    /// The format's own tag for the clock offset: seconds and microseconds.
    private static let offsetTag: UInt16 = 1
    private static let ownTag: UInt16 = 0x4B53

    /// The file offset of the eight bytes of the clock offset, which are changed in place.
    static let offsetPosition = 8

    static func encoded(clockOffset: Int32) -> [UInt8] {
        var writer = ByteWriter(capacity: 8)
        writer.write(clockOffset)
        writer.write(Int32(0))
        return writer.bytes
    }

    private var ownLength: Int { 16 + name.bytes.count }
    private var tagsLength: Int { 4 + 8 + 4 + ownLength }

    /// The length of the header in bytes, including the principal.
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
    /// Reads a header that ``write(to:)`` has written.
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

/// A record that lists the removed ones among the records before it, so that a removal is an append too.
///
/// It has the form of a configuration entry, which klist does not show. Records are counted from zero, without tombstones.
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

    /// Encodes the record, with the mark of its file.
    static func encoded(_ numbers: [UInt64], mark: UInt64, principal: MarshalledPrincipal) -> [UInt8] {
        var writer = ByteWriter()
        writer.write(principal.bytes)
        writer.write(server)
        // An empty key, times and flags of zero, no addresses, no authorization data.
        writer.write([UInt8](repeating: 0, count: 2 + 4 + 4 * 4 + 1 + 4 + 4 + 4))
        var value = ByteWriter(capacity: 8 + 8 * numbers.count)
        value.write(mark)
        for number in numbers { value.write(number) }
        writer.writeCounted(value.bytes)
        writer.write(UInt32(0))
        return writer.bytes
    }

    /// Returns the numbers in a record; nil if it is not a tombstone of the file with this mark.
    static func numbers(_ record: MarshalledCredential, mark: UInt64) -> [UInt64]? {
        guard record.server.bytes.elementsEqual(server) else { return nil }
        var reader = ByteReader(record.ticket)
        guard let found = try? reader.number("mark", as: UInt64.self), found == mark else { return nil }
        var numbers: [UInt64] = []
        while let number = try? reader.number("number", as: UInt64.self) { numbers.append(number) }
        return numbers
    }
}

/// The contents read from a cache file.
struct RecoveredCache {
    let header: CacheFileHeader
    let cache: CredentialCache
    /// The length up to the end of the last complete record. What follows was being written when the server stopped, and was never
    /// acknowledged.
    let length: Int
    /// The length of the header.
    let headerLength: Int
    /// The offset of each record, without tombstones.
    let offsets: [Int]
    /// The parts of removed records that were not overwritten before the server stopped.
    let remains: [Erasure]

    /// Reads a file up to its last complete record.
    ///
    /// - Throws: ``MalformedInput`` if the header is incomplete. A file gets its name only once its header is complete.
    init(_ bytes: [UInt8]) throws(MalformedInput) {
        var reader = ByteReader(bytes)
        header = try CacheFileHeader(from: &reader)
        headerLength = reader.offset
        var cache = CredentialCache(name: header.name, principal: header.principal)
        cache.clockOffset = header.clockOffset
        var records: [(start: Int, credential: MarshalledCredential)] = []
        var length = reader.offset
        while !reader.rest.isEmpty, let record = try? MarshalledCredential(from: &reader) {
            records.append((length, record))
            length = reader.offset
        }
        // Zeros at the end of the file, or before a torn record, are left by a power failure.
        while let last = records.last, last.credential.bytes.allSatisfy({ $0 == 0 }) {
            length = last.start
            records.removeLast()
        }
        var offsets: [Int] = []
        var erasures: [[Erasure]] = []
        for (start, record) in records {
            guard let numbers = Tombstone.numbers(record, mark: header.mark) else {
                var examined = 0
                cache.store(record, replacing: cache.list.serial(repeatedBy: record, examined: &examined))
                offsets.append(start)
                let left = record.erasures.filter { !record.bytes[$0.offset...].starts(with: $0.bytes) }
                erasures.append(left.map { $0.moved(by: start) })
                // The credential is removed, even if a power failure lost the tombstone, or an earlier version stored a blank one.
                if !record.isStorable { cache.list.remove(UInt64(offsets.count)) }
                continue
            }
            // Serial numbers start at one, record numbers at zero.
            for number in numbers where number < .max { cache.list.remove(number + 1) }
        }
        remains = erasures.indices.filter { cache.list[UInt64($0) + 1] == nil }.flatMap { erasures[$0] }
        self.offsets = offsets
        self.cache = cache
        self.length = length
    }
}
