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
