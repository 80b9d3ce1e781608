/// All caches of one user, as the clients of a KCM server see them: no socket, no file, no clock.
///
/// The primary name is a name and not a cache: it need not exist, it stays while caches come and go, and only SET_DEFAULT_CACHE changes it.
package struct CredentialStore: Sendable {
    package let user: UInt32
    /// What a request may bring it to.
    package var limits: StoreLimits
    /// The initialised caches in the order in which they came.
    package private(set) var caches: [CredentialCache] = []
    package private(set) var primary: CacheName
    /// Whether a cache stays when room is needed, though its tickets have expired: because they will be acquired again.
    var isExempt: @Sendable (CredentialCache) -> Bool = { _ in false }

    package init(user: UInt32, limits: StoreLimits = StoreLimits()) {
        self.user = user
        self.limits = limits
        primary = .initialPrimary(user: user)
    }

    /// A store with what was kept.
    init(user: UInt32, limits: StoreLimits, caches: [CredentialCache], primary: CacheName?) {
        self.init(user: user, limits: limits)
        self.caches = caches
        if let primary { self.primary = primary }
    }

    /// Decides on a request and makes its changes: for a store that is nowhere but in memory.
    package mutating func answer(_ request: Request, connection: inout ConnectionState, now: UInt32) -> Reply {
        let decision = decide(request, connection: &connection, now: now)
        for change in decision.changes { apply(change) }
        return decision.reply
    }

    /// Makes a change; one whose cache is not there changes nothing.
    ///
    /// - Parameter now: The time in seconds since 1970, which a cache that is written remembers.
    package mutating func apply(_ change: StoreChange, now: UInt32 = 0) {
        switch change {
        case .initialize(let name, let principal): caches[create(name, principal)].empty(for: principal)
        case .replace(let name, let replacement): caches[create(name, replacement.principal)].replace(by: replacement)
        case .store(let name, let credential, let serial): position(of: name).map { caches[$0].store(credential, replacing: serial) }
        case .remove(let name, let serials): position(of: name).map { for serial in serials { caches[$0].list.remove(serial) } }
        case .destroy(let name): destroy(name)
        case .move(let name, let target): move(name, to: target)
        case .setPrimary(let name): primary = name
        case .setClockOffset(let name, let offset): position(of: name).map { caches[$0].clockOffset = offset }
        }
        switch change {
        case .initialize(let name, _), .replace(let name, _), .store(let name, _, _), .remove(let name, _), .move(_, to: let name):
            position(of: name).map { caches[$0].written = now }
        case .destroy, .setPrimary, .setClockOffset: break
        }
    }

    private mutating func create(_ name: CacheName, _ principal: MarshalledPrincipal) -> Int {
        if let position = position(of: name) { return position }
        caches.append(CredentialCache(name: name, principal: principal))
        return caches.count - 1
    }

    private mutating func move(_ name: CacheName, to target: CacheName) {
        guard name != target, position(of: name) != nil else { return }
        destroy(target)
        position(of: name).map { caches[$0].name = target }
    }

    private mutating func destroy(_ name: CacheName) {
        guard let position = position(of: name) else { return }
        caches[position].list.wipe()
        caches.remove(at: position)
    }

    private func position(of name: CacheName) -> Int? { caches.firstIndex { $0.name == name } }

    /// The cache of a name, which may be one that stands for the default cache.
    package func cache(_ name: CacheName) -> CredentialCache? {
        let name = resolved(name)
        return caches.first { $0.name == name }
    }

    /// The name that a name stands for.
    func resolved(_ name: CacheName) -> CacheName { name == .empty || name == .bare(user: user) ? primary : name }

    /// The memory that all caches take, by an estimate.
    package var cost: Int { caches.reduce(0) { $0 + $1.cost } }
}

/// One step from a state of the store to the next.
///
/// A request is decided first and applied then, so that a change can be on disk before the store has it and the client hears of it: when
/// the disk is full, nothing has happened. All names are resolved; none stands for another.
package enum StoreChange: Sendable {
    /// The cache is there, belongs to this principal, and is empty.
    case initialize(CacheName, MarshalledPrincipal)
    /// The cache is there and holds this and no more.
    case replace(CacheName, Replacement)
    /// The credential is the last of the cache; the one with the serial number `replacing` is gone.
    case store(CacheName, MarshalledCredential, replacing: UInt64?)
    /// The credentials with these serial numbers are gone.
    case remove(CacheName, [UInt64])
    case destroy(CacheName)
    /// The cache has another name, and a cache of that name is gone.
    case move(CacheName, to: CacheName)
    case setPrimary(CacheName)
    case setClockOffset(CacheName, Int32)
}

/// How much one user may keep. Beyond it expired tickets give way, live ones never: a request that finds no room is refused.
package struct StoreLimits: Hashable, Sendable {
    /// How many caches a user may have who says nothing else, as in sssd.
    package static let defaultCaches = 64

    /// The number of caches.
    package var caches: Int
    /// The memory of all caches, by an estimate that counts what a ticket costs beside its bytes.
    package var bytes: Int

    package init(caches: Int = StoreLimits.defaultCaches, bytes: Int = 64 << 20) {
        self.caches = caches
        self.bytes = bytes
    }
}
