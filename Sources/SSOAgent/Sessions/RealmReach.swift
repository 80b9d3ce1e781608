internal import SSOAgentClient
internal import SignOnPolicy

extension SessionSchedule {
    /// Records a change of the network. The KDCs are probed soon, and after failures again for about 15 seconds.
    package mutating func networkChanged(at now: Moment) {
        for (key, entry) in entries where dueDate(entry)?.isOver(at: now) == true { entries[key]?.renewal.isWanted = true }
        // A directory that did not answer may be reachable now.
        for key in entries.keys { entries[key]?.reading.retry(by: now.uptime + RealmReach.settling) }
        for realm in Set(rules.configurations.map(\.realm)).union(entries.values.map(\.session.realm)) {
            var reach = realms[realm] ?? RealmReach()
            reach.pause = RealmReach.firstPause
            if reach.isProbing { reach.hasChanged = true }
            // Further changes do not delay a probe that is already scheduled.
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

    /// Records whether a KDC of the realm has answered a probe.
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

    /// Makes retries after failures due now, and abandons attempts whose reply should have arrived by now.
    private mutating func retry(_ realm: String, at now: Moment) {
        for (key, entry) in entries where entry.session.realm == realm {
            if entry.renewal.failures > 0 { entries[key]?.renewal.notBefore = now.uptime }
            entries[key]?.renewal.failures = 0
            if entry.renewal.isInProgress, let attempt = entry.renewal.attempt, now.uptime - attempt.begun > RealmReach.firstPause {
                pending.append(.abandon(key))
            }
        }
    }

    /// Sends an event if the reachability differs from the last known one.
    mutating func note(_ realm: String, isReachable: Bool, at now: Moment) {
        guard realms[realm, default: RealmReach()].isReachable != isReachable else { return }
        realms[realm, default: RealmReach()].isReachable = isReachable
        pending.append(.send(AgentEvent(isReachable ? .networkAvailable : .networkNotAvailable, realm: realm, date: now.wall)))
    }

    private func knownPrincipal(of realm: String) -> String? {
        entries.values.filter { $0.session.realm == realm }.map(\.session.key.principal).min()
            ?? rules.configurations.first { $0.realm == realm }.flatMap { $0.principalName ?? $0.userPrincipal }
    }
}

/// The known reachability of a realm's KDCs, and the schedule of the probes after a network change.
struct RealmReach: Sendable, Hashable {
    /// Nil until a result is known.
    var isReachable: Bool?
    /// The uptime of the next probe.
    var nextProbe: Double?
    /// Whether a probe is in progress.
    var isProbing = false
    /// Whether the network changed during the probe, so that its result may be outdated.
    var hasChanged = false
    /// The pause after the next failure, in seconds.
    var pause = firstPause

    /// The delay before a probe, in seconds, because the addresses and routes of a network appear one by one.
    static let settling = 0.5
    static let firstPause = 1.0
    /// The longest pause between probes, in seconds. After it, only the sessions' own attempts contact the KDCs.
    static let longestPause = 8.0

    func wait(at now: Moment) -> Double? { isProbing ? nil : nextProbe.map { $0 - now.uptime } }
}
