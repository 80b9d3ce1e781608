internal import SSOAgentClient
package import SignOnPolicy

internal import struct Foundation.Date
internal import struct Foundation.DateComponents

extension SessionSchedule {
    /// Applies other profiles. If no profile names a realm any more, the realm's sessions end, except those that other programs began.
    package mutating func configure(_ configurations: [ExtensionConfiguration], at now: Moment) {
        let removed = Set(self.configurations.map(\.realm)).subtracting(configurations.map(\.realm))
        self.configurations = configurations
        for realm in removed { realms[realm]?.nextProbe = nil }
        let named = Set(configurations.map(\.realm))
        for key in entries.keys {
            guard let realm = entries[key]?.session.realm else { continue }
            if removed.contains(realm) { entries[key]?.isProfileGone = true }
            if named.contains(realm) { entries[key]?.isProfileGone = false }
            if entries[key]?.isProfileGone == true { entries[key]?.endNotBefore = now.uptime }
        }
    }

    /// Signs out a session that has reached its end, and sends an event shortly before that.
    mutating func end(_ key: SessionSnapshot.Key, at now: Moment) {
        guard let entry = entries[key], !entry.isEnding, entry.missingSince == nil else { return }
        if entry.isProfileGone, now.uptime >= entry.endNotBefore {
            return signOut(key.principal, includingOthers: false, because: .profileRemoved)
        }
        guard let (end, reason) = firstEnd(of: entry, at: now) else { return }
        let remaining = end.remaining(at: now)
        if remaining <= 0 {
            guard now.uptime >= entry.endNotBefore else { return }
            signOut(key.principal, includingOthers: true, because: reason)
        } else if remaining <= Self.warningTime, entry.reportedEnd != end.wall {
            entries[key]?.reportedEnd = end.wall
            tell(.sessionEnding, entry.session, at: now, date: now.wall.addingTimeInterval(remaining))
        }
    }

    /// Ends the sessions that the profiles end when the user locks the screen or logs out.
    package mutating func note(_ change: LoginChange, at now: Moment) {
        for key in entries.keys.sorted(by: { ($0.principal, $0.cache) < ($1.principal, $1.cache) }) {
            guard let entry = entries[key], !entry.isEnding, limits(of: entry).contains(where: { $0.ends(sessionsOn: change) }) else {
                continue
            }
            entries[key]?.endOrdered = now
            entries[key]?.endOrderedBy = change
            entries[key]?.endNotBefore = now.uptime
            tell(.sessionEnding, entry.session, at: now)
        }
    }

    private mutating func signOut(_ principal: String, includingOthers: Bool, because reason: SignOutReason) {
        signOutReasons[principal] = reason
        for key in entries.keys where key.principal == principal { entries[key]?.isEnding = true }
        pending.append(.signOut(principal: principal, includingOthers: includingOthers))
    }

    /// The earliest time at which the profiles end a session; nil if they do not.
    func end(of entry: Entry, at now: Moment) -> Deadline? { firstEnd(of: entry, at: now)?.deadline }

    private func firstEnd(of entry: Entry, at now: Moment) -> (deadline: Deadline, reason: SignOutReason)? {
        var ends = limits(of: entry).flatMap { limitEnds(of: entry, $0) }
        if let ordered = entry.endOrdered {
            ends.append((Deadline(ordered.wall, knownSince: ordered), entry.endOrderedBy == .locked ? .locked : .sessionEnded))
        }
        return ends.min { $0.deadline.remaining(at: now) < $1.deadline.remaining(at: now) }
    }

    private func limits(of entry: Entry) -> [SessionLimits] {
        let (principal, realm) = (entry.session.key.principal, entry.session.realm)
        return configurations.filter { $0.realm == realm }.map(\.sessionLimits).filter { !$0.exempts(principal, realm: realm) }
    }

    private func limitEnds(of entry: Entry, _ limits: SessionLimits) -> [(deadline: Deadline, reason: SignOutReason)] {
        var ends: [(deadline: Deadline, reason: SignOutReason)] = []
        if let lifetime = limits.maximumLifetime {
            let date = entry.session.signedInAt.addingTimeInterval(Double(lifetime.components.seconds))
            ends.append((Deadline(date, knownSince: entry.seen), .maximumLifetime))
        }
        if let time = limits.signOutAt, let date = next(time, after: entry.session.signedInAt) {
            ends.append((Deadline(date, knownSince: entry.seen), .timeOfDay))
        }
        if let idle = limits.idleSignOutAfter {
            let date = entry.lastUse.wall.addingTimeInterval(Double(idle.components.seconds))
            ends.append((Deadline(date, knownSince: entry.lastUse), .idle))
        }
        return ends
    }

    /// Returns the next date with this time of day. On a day without it, because clocks are put forward, the first moment after it counts.
    private func next(_ time: SessionLimits.TimeOfDay, after date: Date) -> Date? {
        let components = DateComponents(hour: time.hour, minute: time.minute, second: 0)
        return calendar.nextDate(after: date, matching: components, matchingPolicy: .nextTime)
    }
}

extension SessionLimits {
    fileprivate func ends(sessionsOn change: LoginChange) -> Bool {
        switch change {
        case .locked: signOutOnLock
        case .sessionEnded: signOutOnSessionEnd
        }
    }
}

/// The reason for a sign-out that no person or program asked for.
enum SignOutReason: Sendable, Hashable {
    case locked, sessionEnded, maximumLifetime, timeOfDay, idle, profileRemoved

    /// The reason for a log message, with the profile's key.
    var description: String {
        switch self {
        case .locked: "because the screen was locked (SignOutOnLock)"
        case .sessionEnded: "because the user's last login session ended (SignOutOnSessionEnd)"
        case .maximumLifetime: "because the session reached its maximum lifetime (MaxSessionLifetime)"
        case .timeOfDay: "because sessions end at this time of day (SignOutAt)"
        case .idle: "because the tickets were not used (IdleSignOutAfter)"
        case .profileRemoved: "because no profile names the realm any longer"
        }
    }
}
