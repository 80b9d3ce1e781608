/// Whether the KDCs of a realm can be reached, as far as is known, and the looks at them after a change of the network.
struct RealmReach: Sendable, Hashable {
    /// Nil as long as nobody has asked.
    var isReachable: Bool?
    /// When to ask next, by the clock that only runs.
    var nextProbe: Double?
    /// A question is under way.
    var isProbing = false
    /// The network changed meanwhile: what is under way began before, and its answer may be of the network that was.
    var hasChanged = false
    /// The wait after the next failure, in seconds.
    var pause = firstPause

    /// Addresses and routes of one network come one by one, in seconds.
    static let settling = 0.5
    static let firstPause = 1.0
    /// A network that still leads to no KDC when it has been there for so long is left to the attempts for its sessions.
    static let longestPause = 8.0

    func wait(at now: Moment) -> Double? { isProbing ? nil : nextProbe.map { $0 - now.uptime } }
}
