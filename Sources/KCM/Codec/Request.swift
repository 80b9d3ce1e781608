/// A request with what belongs to its operation.
package enum Request: Sendable {
    case noOperation
    case generateName
    case initialize(CacheName, MarshalledPrincipal)
    case destroy(CacheName)
    case store(CacheName, MarshalledCredential)
    case retrieve(CacheName, CredentialPattern)
    case principal(CacheName)
    case credentialIdentifiers(CacheName)
    case credential(CacheName, Identifier)
    case remove(CacheName, CredentialPattern)
    case setFlags(CacheName, UInt32)
    case move(CacheName, to: CacheName)
    case cacheIdentifiers
    case cacheName(Identifier)
    case defaultCache
    case setDefaultCache(CacheName)
    case clockOffset(CacheName)
    case setClockOffset(CacheName, Int32)
    case credentialList(CacheName)
    case replace(CacheName, Replacement)
}
