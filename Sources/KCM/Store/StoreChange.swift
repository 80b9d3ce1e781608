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
