/// What the bytes of a cache file come to.
struct RecoveredCache {
    let header: CacheFileHeader
    let cache: CredentialCache
    /// How far the records are whole; what follows was being written when the server ended, and nobody was told that it is kept.
    let length: Int
    /// How long the header is.
    let headerLength: Int

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
        while !reader.rest.isEmpty, let record = try? MarshalledCredential(from: &reader), !record.isBlank {
            length = reader.offset
            guard let numbers = Tombstone.numbers(record, mark: header.mark) else {
                var examined = 0
                cache.store(record, replacing: cache.list.serial(repeatedBy: record, examined: &examined))
                continue
            }
            // The first record has the serial number one.
            for number in numbers where number < .max { cache.list.remove(number + 1) }
        }
        self.cache = cache
        self.length = length
    }
}

extension MarshalledCredential {
    /// Whether it is nothing but zeros, as a file may have at its end after a power failure.
    fileprivate var isBlank: Bool { client.bytes.allSatisfy { $0 == 0 } && server.bytes.allSatisfy { $0 == 0 } }
}
