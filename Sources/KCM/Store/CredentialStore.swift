/// All caches of one user, as seen by the clients of a KCM server, without any I/O or clock.
///
/// The primary name need not be that of an existing cache. It stays while caches are created and destroyed, and only SET_DEFAULT_CACHE
/// changes it.
package struct CredentialStore: Sendable {
    package let user: UInt32
    /// The limits that a request must not exceed.
    package var limits: StoreLimits
    /// The initialized caches in the order in which they were created.
    package private(set) var caches: [CredentialCache] = []
    package private(set) var primary: CacheName
    /// Whether a cache with expired tickets stays when room is needed, because its tickets will be reacquired.
    var isExempt: @Sendable (CredentialCache) -> Bool = { _ in false }

    package init(user: UInt32, limits: StoreLimits = StoreLimits()) {
        self.user = user
        self.limits = limits
        primary = .initialPrimary(user: user)
    }

    /// Creates a store from stored caches.
    init(user: UInt32, limits: StoreLimits, caches: [CredentialCache], primary: CacheName?) {
        self.init(user: user, limits: limits)
        self.caches = caches
        if let primary { self.primary = primary }
    }

    /// Applies a change; a change to a missing cache has no effect.
    ///
    /// - Parameter now: The time in seconds since 1970, recorded in the written cache.
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

    /// Returns the cache with a name, which may be an alias of the default cache.
    package func cache(_ name: CacheName) -> CredentialCache? {
        let name = resolved(name)
        return caches.first { $0.name == name }
    }

    /// Returns the primary name for an alias of the default cache, otherwise the name itself.
    func resolved(_ name: CacheName) -> CacheName { name == .empty || name == .bare(user: user) ? primary : name }

    /// The estimated memory of all caches.
    package var cost: Int { caches.reduce(0) { $0 + $1.cost } }
}

/// A change of the store.
///
/// A request is first decided and then applied, so that a change is on disk before the store contains it and the client gets the reply. If
/// the disk is full, nothing has changed. All names are resolved; none is an alias.
package enum StoreChange: Sendable {
    /// Creates the cache, or empties an existing one, for this principal.
    case initialize(CacheName, MarshalledPrincipal)
    /// Creates the cache, or replaces the contents of an existing one.
    case replace(CacheName, Replacement)
    /// Appends a credential to the cache, and removes the one with the serial number `replacing`.
    case store(CacheName, MarshalledCredential, replacing: UInt64?)
    /// Removes the credentials with these serial numbers.
    case remove(CacheName, [UInt64])
    case destroy(CacheName)
    /// Renames the cache; an existing cache with the new name is destroyed.
    case move(CacheName, to: CacheName)
    case setPrimary(CacheName)
    case setClockOffset(CacheName, Int32)
}

/// The limits on what one user may store. When they are reached, expired tickets are removed, but valid ones never are: a request for which
/// there is still no room is refused.
package struct StoreLimits: Hashable, Sendable {
    /// The default limit of caches, the same as sssd's.
    package static let defaultCaches = 64

    /// The maximum number of caches.
    package var caches: Int
    /// The maximum estimated memory of all caches, which includes the overhead of each ticket.
    package var bytes: Int

    package init(caches: Int = StoreLimits.defaultCaches, bytes: Int = 64 << 20) {
        self.caches = caches
        self.bytes = bytes
    }
}
