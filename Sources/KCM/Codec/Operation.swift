/// An operation that MIT libkrb5 1.20 and later or Heimdal's client send. There is no specification; the names are those of `kcm.h`.
package enum Operation: UInt16, CaseIterable, Sendable {
    /// `KCM_OP_NOOP`
    case noOperation = 0
    /// `KCM_OP_GEN_NEW`
    case generateName = 3
    /// `KCM_OP_INITIALIZE`
    case initialize = 4
    /// `KCM_OP_DESTROY`
    case destroy = 5
    /// `KCM_OP_STORE`
    case store = 6
    /// `KCM_OP_RETRIEVE`, sent by libkrb5 since 1.20
    case retrieve = 7
    /// `KCM_OP_GET_PRINCIPAL`
    case principal = 8
    /// `KCM_OP_GET_CRED_UUID_LIST`
    case credentialIdentifiers = 9
    /// `KCM_OP_GET_CRED_BY_UUID`
    case credential = 10
    /// `KCM_OP_REMOVE_CRED`
    case remove = 11
    /// `KCM_OP_SET_FLAGS`, sent by Heimdal alone
    case setFlags = 12
    /// `KCM_OP_MOVE_CACHE`, sent by Heimdal alone
    case move = 17
    /// `KCM_OP_GET_CACHE_UUID_LIST`
    case cacheIdentifiers = 18
    /// `KCM_OP_GET_CACHE_BY_UUID`
    case cacheName = 19
    /// `KCM_OP_GET_DEFAULT_CACHE`
    case defaultCache = 20
    /// `KCM_OP_SET_DEFAULT_CACHE`
    case setDefaultCache = 21
    /// `KCM_OP_GET_KDC_OFFSET`
    case clockOffset = 22
    /// `KCM_OP_SET_KDC_OFFSET`
    case setClockOffset = 23
    /// `KCM_OP_GET_CRED_LIST`, sent by MIT libkrb5 since 1.20
    case credentialList = 13001
    /// `KCM_OP_REPLACE`, sent by MIT libkrb5 since 1.20
    case replace = 13002
}
