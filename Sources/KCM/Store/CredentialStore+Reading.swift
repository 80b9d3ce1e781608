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

    func retrieve(_ pattern: CredentialPattern, from cache: CredentialCache) -> Decision {
        var examined = 0
        let credential = cache.list.first(matching: pattern, examined: &examined)
        var decision = credential.map { Decision(Reply(body: $0.bytes)) } ?? Decision(.notFound)
        decision.examined = examined
        return decision
    }

    func identifiers(_ cache: CredentialCache) -> Decision {
        Decision(Reply(body: Self.encoded(cache.list.all.map { cache.identifier(of: $0.serial) })))
    }

    /// All credentials at once; where they are too long for one reply, what makes the client ask for one after the other.
    func list(_ cache: CredentialCache) -> Decision {
        let length = 4 + 4 * cache.list.count + cache.list.byteCount
        guard Reply.fits(bodyLength: length) else { return Decision(.unsupported) }
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
