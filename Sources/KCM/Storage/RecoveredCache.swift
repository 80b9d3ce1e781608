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
