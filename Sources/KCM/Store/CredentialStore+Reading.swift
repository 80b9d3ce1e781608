extension CredentialStore {
    /// A name that no cache has, and that no two callers get.
    func unusedName() -> CacheName {
        let letters = Array("abcdefghijklmnopqrstuvwxyz234567".utf8)
        while true {
            // Eighty random bits are the reservation: nothing is to be remembered, and a restart forgets nothing.
            let suffix = (0..<16).map { _ in letters[Int.random(in: 0..<letters.count)] }
            let name = CacheName("\(user):".utf8 + suffix)
            if cache(name) == nil, name != primary { return name }
        }
    }

    func nameOfCache(_ identifier: Identifier) -> Decision {
        guard let cache = caches.first(where: { $0.identifier == identifier }) else { return Decision(.end) }
        return Decision(Reply(body: cache.name.terminated))
    }

    /// The first credential that matches; where that takes too many comparisons, what makes the client list the cache and search there.
    func retrieve(_ pattern: CredentialPattern, from cache: CredentialCache) -> Decision {
        var examined = 0
        var decision: Decision
        switch cache.list.first(matching: pattern, examined: &examined) {
        case .found(let credential): decision = Decision(Reply(body: credential.bytes))
        case .notFound: decision = Decision(.notFound)
        case .unknown: decision = Decision(.unsupported)
        }
        decision.examined = examined
        return decision
    }

    func identifiers(_ cache: CredentialCache, limit: Int) -> Decision {
        guard cache.list.count * Identifier.length <= limit else { return Decision(.limitReached) }
        return Decision(Reply(body: Self.encoded(cache.list.all.map { cache.identifier(of: $0.serial) })))
    }

    /// All credentials at once; where they are too long for one reply, what makes the client ask for one after the other.
    func list(_ cache: CredentialCache, limit: Int) -> Decision {
        let length = 4 + 4 * cache.list.count + cache.list.byteCount
        guard length <= Reply.maximumBodyLength else { return Decision(.unsupported) }
        guard length <= limit else { return Decision(.limitReached) }
        var writer = ByteWriter(capacity: length)
        writer.write(UInt32(truncatingIfNeeded: cache.list.count))
        for (_, credential) in cache.list.all { writer.writeCounted(credential.bytes) }
        return Decision(Reply(body: writer.take(), isOnlyCopy: true))
    }

    static func encoded(_ identifiers: [Identifier]) -> [UInt8] {
        var writer = ByteWriter(capacity: identifiers.count * Identifier.length)
        for identifier in identifiers { identifier.write(to: &writer) }
        return writer.bytes
    }

    static func encoded(_ offset: Int32) -> [UInt8] {
        var writer = ByteWriter()
        writer.write(offset)
        return writer.bytes
    }
}
