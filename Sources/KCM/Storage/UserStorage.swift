#if canImport(Glibc)
    internal import Glibc
#elseif canImport(Musl)
    internal import Musl
#endif

/// The files of one user's caches. Used only on the server's event loop.
///
/// A file gets its name, by a rename, when it is complete. After that it only grows by complete records, and the secrets of removed records
/// are overwritten. So whenever the process stops, the directory has the state before a change or after it, except for an incomplete last
/// record that was never acknowledged.
final class UserStorage {
    let directory: OpenDirectory
    private(set) var files: [CacheName: CacheFile] = [:]
    /// The highest file number or generation in use.
    private var lastNumber: UInt64 = 0
    /// The entries that ``recover(user:limits:)`` has renamed.
    private(set) var damagedEntries: [DamagedEntry] = []
    /// The files that ``recover(user:limits:)`` has truncated.
    private(set) var truncatedFiles: [TruncatedFile] = []

    private static let primaryFile = "primary"
    /// The limit of numbers and generations, which count up from one. A higher one is not the server's, and would leave no room for the
    /// next.
    private static let maximumNumber = UInt64.max / 2

    init(_ directory: OpenDirectory, damagedEntries: [DamagedEntry] = []) {
        self.directory = directory
        self.damagedEntries = damagedEntries
    }

    /// Loads the existing caches; call it once, before anything is written.
    ///
    /// Incomplete files are removed. An entry that is not a file, or cannot be read, is renamed and does not affect the others.
    ///
    /// - Throws: An error that affects every file, such as that the process has no descriptors left.
    func recover(user: UInt32, limits: StoreLimits) throws(StorageError) -> CredentialStore {
        var caches: [(file: CacheFile, cache: CredentialCache)] = []
        var primary: CacheName?
        for name in try directory.names().sorted() {
            do {
                if name.hasSuffix(Self.unfinished) {
                    try directory.remove(name)
                } else if name == Self.primaryFile {
                    primary = try recoverPrimary(user: user)
                } else if let number = Self.number(name) {
                    // A file that cannot be renamed must not have the number of a new one either.
                    if number < Self.maximumNumber { lastNumber = max(lastNumber, number) }
                    caches.append(try recover(name, number))
                }
            } catch {
                guard error.isOfEntry else { throw error }
                setAside(name, error)
            }
        }
        for (file, cache) in caches { try keep(file, cache.name) }
        lastNumber = caches.reduce(lastNumber) { max($0, $1.file.number, $1.file.header.generation) }
        let kept = caches.filter { files[$0.cache.name] === $0.file }.map(\.cache)
        return CredentialStore(user: user, limits: limits, caches: kept, primary: primary)
    }

    private func setAside(_ name: String, _ error: StorageError) {
        let prefix = "\(directory.path)/\(name) "
        let reason = error.description.hasPrefix(prefix) ? "it " + error.description.dropFirst(prefix.count).dropLast() : "\(error)"
        damagedEntries.append(DamagedEntry(path: "\(directory.path)/\(name)", reason: reason, newName: directory.setAside(name)))
    }

    /// Reads the name of the default cache.
    private func recoverPrimary(user: UInt32) throws(StorageError) -> CacheName {
        let name = CacheName(try directory.open(Self.primaryFile).read())
        guard !name.bytes.isEmpty, name.bytes.count <= CacheName.maximumLength, !name.bytes.contains(0), !name.belongsToAnother(than: user)
        else { throw damaged(Self.primaryFile, "does not name a cache of user \(user)") }
        return name
    }

    private func damaged(_ name: String, _ what: String) -> StorageError {
        StorageError(.notAFile, "\(directory.path)/\(name) \(what).")
    }

    private func recover(_ name: String, _ number: UInt64) throws(StorageError) -> (CacheFile, CredentialCache) {
        guard number < Self.maximumNumber, name == Self.name(number) else {
            throw damaged(name, "has an unexpected name; ticket files are named like 000000000001.ccache")
        }
        let file = try directory.open(name)
        var bytes = try file.read()
        defer { bytes.wipe() }
        // Read before the file is written to.
        let modified = file.modified
        guard let recovered = try? RecoveredCache(bytes), recovered.header.generation < Self.maximumNumber else {
            throw damaged(name, "has no readable tickets")
        }
        if recovered.length < bytes.count {
            try file.truncate(to: recovered.length)
            truncatedFiles.append(TruncatedFile(path: "\(directory.path)/\(name)", count: bytes.count - recovered.length))
        }
        file.write(recovered.remains)
        let cacheFile = CacheFile(
            in: directory,
            number: number,
            header: recovered.header,
            size: recovered.length,
            records: RecordIndex(start: recovered.headerLength, offsets: recovered.offsets)
        )
        var cache = recovered.cache
        cache.written = modified
        return (cacheFile, cache)
    }

    /// Keeps the newer of two files of one cache, which an interrupted move leaves, and removes the other.
    private func keep(_ file: CacheFile, _ name: CacheName) throws(StorageError) {
        let other = files[name]
        let isLater = file.header.generation > other?.header.generation ?? 0
        if isLater || other == nil { files[name] = file }
        if let loser = isLater ? other : other.map({ _ in file }) { try directory.remove(loser.name) }
    }

    // MARK: - Names

    private static let unfinished = ".new"
    private static let finished = ".ccache"

    static func name(_ number: UInt64) -> String {
        let digits = String(number)
        return String(repeating: "0", count: max(0, 12 - digits.count)) + digits + finished
    }

    private static func number(_ name: String) -> UInt64? { name.hasSuffix(finished) ? UInt64(name.dropLast(finished.count)) : nil }
}

// MARK: - Changes

extension UserStorage {
    /// The changes written so far: how to undo them, and what remains to be done once all are written.
    private struct Progress {
        var appended: [(file: CacheFile, size: Int)] = []
        var offset: (file: CacheFile, old: Int32)?
        var created: (file: CacheFile, unfinished: String)?
        var destroyed: [CacheName] = []
        /// The files of destroyed caches that have been renamed.
        var removed: [CacheFile] = []
        var moved: (name: CacheName, target: CacheName)?
        var primary: String?
    }

    /// Writes all of the changes, or none of them if it throws.
    ///
    /// The steps that may fail for lack of space come first and can be undone; the renames come last. Among the changes of one request at
    /// most one creates a file, and SET_DEFAULT_CACHE makes no other change.
    func write(_ changes: [StoreChange], to store: CredentialStore) throws(StorageError) {
        var progress = Progress()
        do {
            for change in changes { try stage(change, store, &progress) }
            try finish(&progress)
        } catch {
            undo(progress)
            throw error
        }
    }

    /// Returns the file of a cache.
    ///
    /// - Throws: An error if the cache has no file, because a change that is not written must not be acknowledged.
    private func file(of name: CacheName) throws(StorageError) -> CacheFile {
        guard let file = files[name] else { throw StorageError(.system(ENOENT), "\(directory.path): the file of a cache is missing.") }
        return file
    }

    private func stage(_ change: StoreChange, _ store: CredentialStore, _ progress: inout Progress) throws(StorageError) {
        switch change {
        case .store(let name, let credential, _):
            let file = try file(of: name)
            progress.appended.append((file, file.size))
            try file.append(credential)
        case .remove(let name, let serials):
            let file = try file(of: name)
            progress.appended.append((file, file.size))
            try file.appendRemoval(of: serials)
        case .setClockOffset(let name, let offset):
            let file = try file(of: name)
            progress.offset = (file, file.header.clockOffset)
            try file.setClockOffset(offset)
        case .initialize(let name, let principal):
            let content = Replacement(clockOffset: 0, principal: principal, credentials: [])
            try create(name, content, firstSerial: store.cache(name)?.list.nextSerial ?? 1, &progress)
        case .replace(let name, let content):
            try create(name, content, firstSerial: store.cache(name)?.list.nextSerial ?? 1, &progress)
        case .move(let name, let target):
            guard name != target, let cache = store.cache(name) else { return }
            progress.moved = (name, target)
            try create(target, cache, number: files[name]?.number, &progress)
        case .destroy(let name): progress.destroyed.append(name)
        case .setPrimary(let name):
            let unfinished = Self.primaryFile + Self.unfinished
            progress.primary = unfinished
            try directory.create(unfinished).write(name.bytes, at: 0)
        }
    }

    /// Renames the staged files to their final names.
    ///
    /// All steps that may fail come before the first one that cannot be undone, the rename of a new file over an old one. Until then the
    /// files of destroyed caches are only renamed.
    private func finish(_ progress: inout Progress) throws(StorageError) {
        for name in progress.destroyed {
            guard let file = files[name] else { continue }
            try directory.rename(file.name, to: Self.removed(file))
            progress.removed.append(file)
        }
        if let unfinished = progress.primary { try directory.rename(unfinished, to: Self.primaryFile) }
        if let created = progress.created { try directory.rename(created.unfinished, to: created.file.name) }
        for file in progress.removed {
            // A file that cannot be removed now is removed at the next start.
            try? directory.remove(Self.removed(file))
            files[file.header.name] = nil
        }
        if let moved = progress.moved {
            // If the target's old file cannot be removed, it has a lower generation.
            if let old = files[moved.target] { try? directory.remove(old.name) }
            files[moved.name] = nil
        }
        if let file = progress.created?.file { files[file.header.name] = file }
    }

    /// The name of a destroyed cache's file until it is removed; a restart does not load it.
    private static func removed(_ file: CacheFile) -> String { file.name + ".removed" + unfinished }

    /// Overwrites the keys and tickets that the written changes have removed.
    ///
    /// - Parameter store: The store before the changes.
    func wipeSecrets(of changes: [StoreChange], in store: CredentialStore) {
        for change in changes {
            let (name, serials): (CacheName, [UInt64])
            switch change {
            case .remove(let cache, let removed): (name, serials) = (cache, removed)
            case .store(let cache, _, let replaced?): (name, serials) = (cache, [replaced])
            // The whole file is replaced or removed.
            case .store, .initialize, .replace, .destroy, .move, .setPrimary, .setClockOffset: continue
            }
            guard let file = files[name], let list = store.cache(name)?.list else { continue }
            file.wipeSecrets(of: serials.compactMap { serial in list[serial].map { (serial, $0) } })
        }
    }

    private func undo(_ progress: Progress) {
        for file in progress.removed { try? directory.rename(Self.removed(file), to: file.name) }
        for (file, size) in progress.appended.reversed() { file.cut(to: size) }
        if let (file, old) = progress.offset { try? file.setClockOffset(old) }
        if let unfinished = progress.created?.unfinished { try? directory.remove(unfinished) }
        if let unfinished = progress.primary { try? directory.remove(unfinished) }
    }

    // MARK: - New files

    /// Creates a file with new contents, whose credentials get serial numbers from `firstSerial` on.
    private func create(_ name: CacheName, _ content: Replacement, firstSerial: UInt64, _ progress: inout Progress) throws(StorageError) {
        try create(name, content, number: files[name]?.number, early: [], firstSerial: firstSerial, &progress)
    }

    /// Creates a file with the contents of a cache, whose credentials keep their serial numbers.
    private func create(_ name: CacheName, _ cache: CredentialCache, number: UInt64?, _ progress: inout Progress) throws(StorageError) {
        let (serials, credentials) = (cache.list.all.map(\.serial), cache.list.all.map(\.credential))
        let content = Replacement(clockOffset: cache.clockOffset, principal: cache.principal, credentials: credentials)
        try create(name, content, number: number, early: serials, firstSerial: cache.list.nextSerial, &progress)
    }

    private func create(
        _ name: CacheName,
        _ content: Replacement,
        number: UInt64?,
        early: [UInt64],
        firstSerial: UInt64,
        _ progress: inout Progress
    ) throws(StorageError) {
        lastNumber += 1
        let header = CacheFileHeader(
            name: name,
            generation: lastNumber,
            mark: .random(in: .min ... .max),
            clockOffset: content.clockOffset,
            principal: content.principal.detached()
        )
        // The exact capacity, because an array that grows leaves its old storage behind without wiping it.
        var writer = ByteWriter(capacity: content.credentials.reduce(header.length) { $0 + $1.bytes.count })
        header.write(to: &writer)
        var offsets: [Int] = []
        for credential in content.credentials {
            offsets.append(writer.bytes.count)
            writer.write(credential.bytes)
        }
        var bytes = writer.take()
        defer { bytes.wipe() }
        let number = number ?? lastNumber
        let unfinished = Self.name(number) + Self.unfinished
        let file = try directory.create(unfinished)
        do {
            try file.write(bytes, at: 0)
        } catch {
            try? directory.remove(unfinished)
            throw error
        }
        let created = CacheFile(
            in: directory,
            number: number,
            header: header,
            size: bytes.count,
            records: RecordIndex(start: header.length, offsets: offsets, early: early, firstSerial: firstSerial)
        )
        progress.created = (created, unfinished)
    }

    // MARK: - Compaction

    /// Rewrites a cache's file if more than half of its record bytes are unused.
    func compactIfNeeded(_ cache: CredentialCache) {
        guard let file = files[cache.name], file.size > file.compactionFloor else { return }
        guard file.deadBytes(live: cache.list.byteCount) > cache.list.byteCount else { return }
        rewrite(cache)
    }

    /// Rewrites a cache's file. After a failure the old file stays, which is valid but larger.
    func rewrite(_ cache: CredentialCache) {
        var progress = Progress()
        do {
            try create(cache.name, cache, number: files[cache.name]?.number, &progress)
            try finish(&progress)
        } catch {
            undo(progress)
            if let file = files[cache.name] { file.compactionFloor = 2 * file.size }
        }
    }
}
