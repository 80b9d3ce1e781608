internal import SSOAgentClient
package import SignOnPolicy

internal import struct Foundation.Calendar
internal import struct Foundation.Date
internal import struct Foundation.DateComponents

extension SessionSchedule {
    /// Applies other profiles. If no profile names a realm any more, the realm's sessions end, except those that other programs began.
    package mutating func configure(_ configurations: [ExtensionConfiguration], at now: Moment) {
        let removed = Set(rules.configurations.map(\.realm)).subtracting(configurations.map(\.realm))
        rules.configurations = configurations
        for realm in removed { realms[realm]?.nextProbe = nil }
        let named = Set(configurations.map(\.realm))
        for key in entries.keys {
            guard let realm = entries[key]?.session.realm else { continue }
            if removed.contains(realm) { entries[key]?.signOut.isProfileGone = true }
            if named.contains(realm) { entries[key]?.signOut.isProfileGone = false }
            if entries[key]?.signOut.isProfileGone == true { entries[key]?.signOut.notBefore = now.uptime }
        }
    }

    /// Signs out a session that has reached its end, and sends an event shortly before that.
    mutating func end(_ key: SessionSnapshot.Key, at now: Moment) {
        guard let entry = entries[key], !principalsSigningOut.contains(key.principal), !entry.signOut.isInProgress,
            entry.missingSince == nil
        else { return }
        if entry.signOut.isProfileGone, now.uptime >= entry.signOut.notBefore {
            return signOut(key.principal, includingOthers: false, because: .profileRemoved)
        }
        guard let (end, reason) = firstEnd(of: entry, at: now) else { return }
        let remaining = end.remaining(at: now)
        if remaining <= 0 {
            guard now.uptime >= entry.signOut.notBefore else { return }
            signOut(key.principal, includingOthers: true, because: reason)
        } else if remaining <= Self.warningTime, entry.signOut.reportedEnd != end.wall {
            entries[key]?.signOut.reportedEnd = end.wall
            report(.sessionEnding, entry.session, at: now, date: now.wall.addingTimeInterval(remaining))
        }
    }

    /// Ends the sessions that the profiles end when the user locks the screen or logs out.
    package mutating func note(_ change: LoginChange, at now: Moment) {
        for key in entries.keys.sorted(by: { ($0.principal, $0.cache) < ($1.principal, $1.cache) }) {
            guard let entry = entries[key], !entry.signOut.isInProgress,
                rules.limits(of: entry.session).contains(where: { $0.ends(sessionsOn: change) })
            else {
                continue
            }
            entries[key]?.signOut.order = SignOutState.Order(moment: now, change: change)
            entries[key]?.signOut.notBefore = now.uptime
            report(.sessionEnding, entry.session, at: now)
        }
    }

    /// The reason for the sign-out of a principal that is in progress.
    func signOutReason(of principal: String) -> SignOutReason? {
        entries.first { $0.key.principal == principal && $0.value.signOut.isInProgress }?.value.signOut.reason
    }

    /// Records which sessions a sign-out has ended; nil if it failed. The others continue. The sign-out is retried after a failure, and if
    /// a limit still requires it.
    package mutating func signOutFinished(_ principal: String, ended: Set<SessionSnapshot.Key>?, at now: Moment) {
        principalsSigningOut.remove(principal)
        for key in entries.keys where key.principal == principal && ended?.contains(key) != true {
            entries[key]?.signOut.reason = nil
            // The remaining sessions are those of other programs.
            if ended != nil { entries[key]?.signOut.isProfileGone = false }
            entries[key]?.signOut.notBefore = now.uptime + Self.longestWait
        }
    }

    private mutating func signOut(_ principal: String, includingOthers: Bool, because reason: SignOutReason) {
        for key in entries.keys where key.principal == principal { entries[key]?.signOut.reason = reason }
        principalsSigningOut.insert(principal)
        pending.append(.signOut(principal: principal, includingOthers: includingOthers))
    }

    /// The earliest time at which the profiles end a session; nil if they do not.
    func end(of entry: Entry, at now: Moment) -> Deadline? { firstEnd(of: entry, at: now)?.deadline }

    private func firstEnd(of entry: Entry, at now: Moment) -> (deadline: Deadline, reason: SignOutReason)? {
        var ends = rules.limits(of: entry.session).flatMap { rules.ends(of: entry, $0) }
        if let order = entry.signOut.order {
            ends.append((Deadline(order.moment.wall, knownSince: order.moment), order.change == .locked ? .locked : .sessionEnded))
        }
        return ends.min { $0.deadline.remaining(at: now) < $1.deadline.remaining(at: now) }
    }
}

/// The rules of the active profiles about sessions.
struct SessionRules: Sendable {
    var configurations: [ExtensionConfiguration]
    /// The calendar and time zone of `SignOutAt`.
    let calendar: Calendar

    /// The limits that apply to a session.
    func limits(of session: SessionSnapshot) -> [SessionLimits] {
        let (principal, realm) = (session.key.principal, session.realm)
        return configurations.filter { $0.realm == realm }.map(\.sessionLimits).filter { !$0.exempts(principal, realm: realm) }
    }

    /// The times at which limits end a session.
    func ends(of entry: SessionSchedule.Entry, _ limits: SessionLimits) -> [(deadline: Deadline, reason: SignOutReason)] {
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

/// The state of a session's sign-out by the agent.
struct SignOutState: Sendable {
    /// A user action that ends the session.
    struct Order: Sendable {
        let moment: Moment
        let change: LoginChange
    }

    /// The reason for the sign-out in progress; nil if there is none.
    var reason: SignOutReason?
    /// The uptime before which a failed sign-out is not retried.
    var notBefore = -Double.infinity
    /// The end of the session of which the last warning was sent.
    var reportedEnd: Date?
    /// Whether no profile names the realm any more, so that the sessions of this project are to end.
    var isProfileGone = false
    /// The user action that ended the session.
    var order: Order?

    var isInProgress: Bool { reason != nil }
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
