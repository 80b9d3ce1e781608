extension CredentialStore {
    /// Decides a request without changing the store.
    ///
    /// If ``ConnectionState/isUnfinished`` is true afterwards, the same request must be decided again once the changes are applied; only
    /// the last reply is sent.
    ///
    /// - Parameters:
    ///   - now: The time in seconds since 1970, which determines the expired tickets when room is needed.
    ///   - replyLimit: The maximum length of a reply; a longer one is not built.
    package func decide(
        _ request: Request,
        connection: inout ConnectionState,
        now: UInt32,
        replyLimit: Int = Reply.maximumBodyLength
    ) -> Decision {
        let removal = connection.removal
        connection.removal = nil
        let decision: Decision
        switch request {
        case .noOperation, .setFlags: decision = Decision()
        case .generateName: decision = Decision(Reply(body: unusedName().terminated))
        case .defaultCache: decision = Decision(Reply(body: primary.terminated))
        case .cacheIdentifiers: decision = Decision(Reply(body: Self.encoded(caches.map(\.identifier))))
        case .cacheName(let identifier): decision = nameOfCache(identifier)
        case .setDefaultCache(let name): decision = creating(name) { Decision(changes: [.setPrimary($0)]) }
        case .initialize(let name, let principal): decision = creating(name) { initialize($0, principal, now: now) }
        case .replace(let name, let replacement):
            decision = creating(name) { replace($0, replacement, connection: &connection, now: now) }
        case .move(let name, let target):
            decision = with(name) { cache in creating(target) { Decision(changes: [.move(cache.name, to: $0)]) } }
        case .store(let name, let credential): decision = with(name) { store(credential, in: $0, now: now) }
        case .remove(let name, let pattern): decision = with(name) { remove(pattern, from: $0, connection: &connection, after: removal) }
        case .destroy(let name): decision = with(name) { Decision(changes: [.destroy($0.name)]) }
        case .setClockOffset(let name, let offset):
            decision = with(name) { cache in
                connection.learn(offset, of: cache.name)
                return Decision(changes: [.setClockOffset(cache.name, offset)])
            }
        case .clockOffset(let name):
            decision = with(name) { cache in
                connection.learn(cache.clockOffset, of: cache.name)
                return Decision(Reply(body: Self.encoded(cache.clockOffset)))
            }
        case .retrieve(let name, let pattern):
            decision = with(name) { cache in
                connection.knows(cache.clockOffset, of: cache.name) ? retrieve(pattern, from: cache) : Decision(.unsupported)
            }
        case .principal(let name): decision = with(name) { Decision(Reply(body: Array($0.principal.bytes))) }
        case .credentialIdentifiers(let name): decision = with(name) { identifiers($0, limit: replyLimit) }
        case .credential(let name, let identifier):
            decision = with(name) { cache in cache[identifier].map { Decision(Reply(body: $0.bytes)) } ?? Decision(.end) }
        case .credentialList(let name): decision = with(name) { list($0, limit: replyLimit) }
        }
        // After a reply that libkrb5 does not read completely, it could not use the connection any more.
        return decision.reply.body.count <= replyLimit ? decision : Decision(.limitReached)
    }

    /// Decides a request that requires an existing cache.
    private func with(_ name: CacheName, _ decide: (CredentialCache) -> Decision) -> Decision {
        guard let cache = cache(name) else { return Decision(.noCache) }
        return decide(cache)
    }

    /// Decides a request that may create a cache with this name.
    private func creating(_ name: CacheName, _ decide: (CacheName) -> Decision) -> Decision {
        let name = resolved(name)
        guard name.bytes.count <= CacheName.maximumLength, !name.belongsToAnother(than: user) else { return Decision(.badName) }
        return decide(name)
    }

    private func initialize(_ name: CacheName, _ principal: MarshalledPrincipal, now: UInt32) -> Decision {
        guard let room = room(replacing: name, cost: cost(of: name, principal, []), now: now) else { return Decision(.quotaExceeded) }
        return Decision(changes: room + [.initialize(name, principal)])
    }

    private func replace(_ name: CacheName, _ replacement: Replacement, connection: inout ConnectionState, now: UInt32) -> Decision {
        let cost = cost(of: name, replacement.principal, replacement.credentials)
        guard let room = room(replacing: name, cost: cost, now: now) else { return Decision(.quotaExceeded) }
        connection.learn(replacement.clockOffset, of: name)
        return Decision(changes: room + [.replace(name, replacement)])
    }

    private func cost(of name: CacheName, _ principal: MarshalledPrincipal, _ credentials: [MarshalledCredential]) -> Int {
        let bytes = credentials.reduce(0) { $0 + $1.bytes.count }
        return CredentialCache.cost(name: name, principal: principal, credentials: credentials.count, bytes: bytes)
    }

    private func store(_ credential: MarshalledCredential, in cache: CredentialCache, now: UInt32) -> Decision {
        var examined = 0
        let serial = cache.list.serial(repeatedBy: credential, examined: &examined)
        let old = serial.flatMap { cache.list[$0] }.map { $0.bytes.count + CredentialCache.costOfCredential } ?? 0
        let purge = purge(cache, whenStoring: credential, now: now).filter { $0 != serial }
        let freed = purge.reduce(0) { $0 + CredentialCache.costOfCredential + (cache.list[$1]?.bytes.count ?? 0) }
        let added = credential.bytes.count + CredentialCache.costOfCredential - old - freed
        var decision = Decision(.quotaExceeded)
        let going = Set(purge + [serial].compactMap(\.self))
        if let room = room(for: added, now: now, isCounted: { $0 == cache.name && going.contains($1) }) {
            let removal: [StoreChange] = purge.isEmpty ? [] : [.remove(cache.name, purge)]
            decision = Decision(changes: removal + room + [.store(cache.name, credential, replacing: serial)])
        }
        decision.examined = examined
        return decision
    }

    /// Returns the expired tickets to remove when a valid ticket is stored, so that a cache in use does not grow by expired tickets.
    ///
    /// A configuration entry, or a ticket that has itself expired, removes none, because a program may store old tickets on purpose.
    private func purge(_ cache: CredentialCache, whenStoring credential: MarshalledCredential, now: UInt32) -> [UInt64] {
        guard !credential.server.isConfiguration, !credential.hasExpired(at: cache.time(at: now)) else { return [] }
        return Array(cache.expired(now: now).prefix(Self.purgeLimit))
    }

    /// The maximum number of expired tickets that one request removes from the cache, because other users wait while they are overwritten.
    /// The others are removed when the next tickets are stored.
    private static let purgeLimit = 64

    /// Removes the matches, or a part of them if there are many to compare or to remove, so that other clients are served in between.
    private func remove(
        _ pattern: CredentialPattern,
        from cache: CredentialCache,
        connection: inout ConnectionState,
        after last: ConnectionState.Removal?
    ) -> Decision {
        var examined = 0
        // Tickets that are stored in the meantime are not removed.
        let range = last?.range ?? 0..<cache.list.nextSerial
        let (serials, next) = cache.list.serials(matching: pattern, in: range, examined: &examined)
        let hasFound = last?.hasFound == true || !serials.isEmpty
        connection.removal = next.map { ConnectionState.Removal(range: $0..<range.upperBound, hasFound: hasFound) }
        var decision = Decision(hasFound ? .ok : .notFound)
        if !serials.isEmpty { decision.changes = [.remove(cache.name, serials)] }
        decision.examined = examined
        return decision
    }
}

extension CredentialStore {
    /// Returns a name that no cache has, and that is never returned twice.
    func unusedName() -> CacheName {
        let letters = Array("abcdefghijklmnopqrstuvwxyz234567".utf8)
        while true {
            // Eighty random bits make the name unique, so that no reservation must be stored or survive a restart.
            let suffix = (0..<16).map { _ in letters[Int.random(in: 0..<letters.count)] }
            let name = CacheName("\(user):".utf8 + suffix)
            if cache(name) == nil, name != primary { return name }
        }
    }

    func nameOfCache(_ identifier: Identifier) -> Decision {
        guard let cache = caches.first(where: { $0.identifier == identifier }) else { return Decision(.end) }
        return Decision(Reply(body: cache.name.terminated))
    }

    /// Returns the first match. If that takes too many comparisons, replies `unsupported`, so that the client lists the cache and searches
    /// it.
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

    /// Returns all credentials. If they are too long for any reply, replies `unsupported`, so that the client fetches them one by one.
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

/// The result of deciding a request: the changes to make first, then the reply.
package struct Decision: Sendable {
    package var reply: Reply
    /// The changes in order. If one of them fails, none is made, and the client gets a different reply.
    package var changes: [StoreChange]
    /// The number of credentials that were compared with the request. Only the tests read it: the time of a request must not depend on the
    /// size of the cache.
    package var examined = 0

    init(_ reply: Reply = Reply(), changes: [StoreChange] = []) {
        self.reply = reply
        self.changes = changes
    }

    init(_ code: ReplyCode) { self.init(Reply(code: code)) }
}

/// The state of one connection: the clock offsets that its client knows, and the rest of a request that takes several turns.
///
/// libkrb5 requests a cache's offset when it begins to list the cache, but never for RETRIEVE. So if the KDC's clock is off, a program that
/// only retrieves would fail because of the clock skew. If the client does not know the offset, RETRIEVE is refused with a code that makes
/// it list the cache, and thus request the offset.
package struct ConnectionState: Sendable {
    /// The rest of a REMOVE_CRED request.
    struct Removal: Sendable {
        /// The serial numbers of the credentials that are still to be compared.
        var range: Range<UInt64>
        /// Whether a credential was already removed.
        var hasFound: Bool
    }

    private var offsets: [(name: CacheName, offset: Int32)] = []
    var removal: Removal?

    package init() {}

    /// Whether the last request must be decided again to complete it.
    package var isUnfinished: Bool { removal != nil }

    /// A connection of libkrb5 serves one cache, one of Heimdal several. Dropping an offset costs the client one listing.
    private static let maximumCount = 16

    /// Whether the client uses this offset; a client that knows none uses zero.
    func knows(_ offset: Int32, of name: CacheName) -> Bool { (offsets.first { $0.name == name }?.offset ?? 0) == offset }

    /// Records an offset that the client has received or sent.
    mutating func learn(_ offset: Int32, of name: CacheName) {
        offsets.removeAll { $0.name == name }
        if offsets.count == Self.maximumCount { offsets.removeFirst() }
        offsets.append((name, offset))
    }
}
