internal import HTTPNegotiate
internal import SSOAgentClient

extension SessionSchedule {
    /// Notes that the machine's network has changed: the KDCs are asked soon, and again after failures, for a quarter of a minute.
    package mutating func networkChanged(at now: Moment) {
        for (key, entry) in entries where dueDate(entry)?.isOver(at: now) == true { entries[key]?.isWanted = true }
        for realm in Set(configurations.map(\.realm)).union(entries.values.map(\.session.realm)) {
            var reach = realms[realm] ?? RealmReach()
            reach.pause = RealmReach.firstPause
            if reach.isProbing { reach.hasChanged = true }
            // Changes that go on do not put it off.
            let soon = now.uptime + RealmReach.settling
            reach.nextProbe = min(reach.nextProbe ?? soon, soon)
            realms[realm] = reach
        }
    }

    mutating func probe(at now: Moment) {
        for (realm, reach) in realms.sorted(by: { $0.key < $1.key }) {
            guard !reach.isProbing, let next = reach.nextProbe, next <= now.uptime else { continue }
            realms[realm]?.isProbing = true
            realms[realm]?.nextProbe = nil
            realms[realm]?.hasChanged = false
            pending.append(.probe(realm: realm, principal: knownPrincipal(of: realm)))
        }
    }

    /// Takes over whether a KDC of the realm has answered.
    package mutating func probeFinished(realm: String, isReachable: Bool, at now: Moment) {
        guard var reach = realms[realm] else { return }
        reach.isProbing = false
        if reach.hasChanged {
            reach.nextProbe = now.uptime + RealmReach.settling
        } else if !isReachable, reach.pause <= RealmReach.longestPause {
            reach.nextProbe = now.uptime + reach.pause
            reach.pause *= 2
        }
        realms[realm] = reach
        note(realm, isReachable: isReachable, at: now)
        if isReachable { retry(realm, at: now) }
    }

    /// Begins anew what waits after failures, and what waits for an answer that would have come by now.
    private mutating func retry(_ realm: String, at now: Moment) {
        for (key, entry) in entries where entry.session.realm == realm {
            if entry.failures > 0 { entries[key]?.notBefore = now.uptime }
            entries[key]?.failures = 0
            if let begun = entry.attempt, now.uptime - begun > RealmReach.firstPause { pending.append(.abandon(key)) }
        }
    }

    /// Tells of it when it is another answer than the last.
    mutating func note(_ realm: String, isReachable: Bool, at now: Moment) {
        guard realms[realm, default: RealmReach()].isReachable != isReachable else { return }
        realms[realm, default: RealmReach()].isReachable = isReachable
        pending.append(.send(AgentEvent(isReachable ? .networkAvailable : .networkNotAvailable, realm: realm, date: now.wall)))
    }

    private func knownPrincipal(of realm: String) -> String? {
        entries.values.filter { $0.session.realm == realm }.map(\.session.key.principal).min()
            ?? configurations.first { $0.realm == realm }?.principalName
    }
}

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
