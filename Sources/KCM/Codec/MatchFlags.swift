/// Which fields RETRIEVE and REMOVE_CRED compare. The bits are Heimdal's, and libkrb5 sends them in place of its own.
package struct MatchFlags: OptionSet, Sendable {
    package let rawValue: UInt32

    package init(rawValue: UInt32) { self.rawValue = rawValue }

    /// The realms of client and server may differ.
    package static let ignoreRealms = MatchFlags(rawValue: 1 << 31)
    /// The key's encryption type is the same.
    package static let keyType = MatchFlags(rawValue: 1 << 30)
    /// The realm of the server may differ.
    package static let serverNameOnly = MatchFlags(rawValue: 1 << 29)
    /// The ticket flags are the same.
    package static let exactFlags = MatchFlags(rawValue: 1 << 28)
    /// The ticket has at least these flags.
    package static let flags = MatchFlags(rawValue: 1 << 27)
    /// The four times are the same.
    package static let exactTimes = MatchFlags(rawValue: 1 << 26)
    /// The ticket lasts, and can be renewed, at least as long: what keeps libkrb5 from using an expired one.
    package static let times = MatchFlags(rawValue: 1 << 25)
    /// The authorization data is the same.
    package static let authorizationData = MatchFlags(rawValue: 1 << 24)
    /// The second ticket is the same.
    package static let secondTicket = MatchFlags(rawValue: 1 << 23)
    /// The pattern says whether a ticket for user-to-user authentication is meant; without this bit it is not.
    package static let isSessionKey = MatchFlags(rawValue: 1 << 22)
    /// `KRB5_GC_CACHED`: do not ask the KDC. This server never does.
    package static let cachedOnly = MatchFlags(rawValue: 1)
}
