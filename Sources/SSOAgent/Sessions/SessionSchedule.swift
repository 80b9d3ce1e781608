package import HTTPNegotiate
package import SSOAgentClient

package import struct Foundation.Calendar
package import struct Foundation.Date

/// Decides what becomes of the sessions: when a ticket is got anew, when it is tried again, when a session ends, what is told of it.
///
/// It reads no clock and does nothing itself: it is told what is seen and how attempts ended, and says what to do. Dates are held by
/// both clocks (``Moment``), so that a wall clock that is set, and a machine that slept, change little: a date that has passed while
/// nobody looked counts at the next look.
package struct SessionSchedule: Sendable {
    /// What to do.
    package enum Action: Sendable, Hashable {
        /// Get the session's ticket anew, and report how it went.
        case refresh(SeenSession.Key)
        /// Give up an attempt that waits for what is no more; it is reported as abandoned.
        case abandon(SeenSession.Key)
        /// See whether a KDC of the realm answers, and report it. The principal is one that the KDC may be asked about.
        case probe(realm: String, principal: String?)
        /// End the sessions of a principal, and report when that is done. Those that other programs began too, or not.
        case signOut(principal: String, includingOthers: Bool)
        /// Tell all who listen.
        case send(AgentEvent)
    }

    /// One session, and what was done for it.
    struct Entry {
        var session: SeenSession
        /// When this ticket was first seen.
        var seen: Moment
        var lastUse: Moment
        /// When the attempt that is under way began, by the clock that only runs.
        var attempt: Double?
        /// The ticket that was to be replaced.
        var attempted: SeenSession.Ticket?
        /// Whether it began after the end of a ticket that a certificate got: none comes after it.
        var isLastAttempt = false
        var failures = 0
        /// No attempt before this, by the clock that only runs.
        var notBefore = -Double.infinity
        /// Where the profile leaves tickets to the requests: whether the network has changed since one was due.
        var isWanted = false
        /// A refresh has succeeded: the next look shows another ticket, which may have the same times.
        var isRefreshed = false
        /// There is nothing more to try with, so that a person has to sign in: until there is another ticket.
        var isStopped = false
        var isExpiryTold = false
        /// That this ticket could not be renewed was told.
        var isFailureTold = false
        var toldEnd: Date?
        /// No profile names its realm any more: what this project began is to end.
        var isProfileGone = false
        /// A sign-out is under way.
        var isEnding = false
        /// After a sign-out that failed none before this, by the clock that only runs.
        var endNotBefore = -Double.infinity
        var missingSince: Double?
        /// What the user did at the machine ends it since then.
        var endOrdered: Moment?
        /// And what that was.
        var endOrderedBy: LoginChange?
    }

    var entries: [SeenSession.Key: Entry] = [:]
    var realms: [String: RealmReach] = [:]
    var configurations: [ExtensionConfiguration]
    var backoff: Backoff
    var calendar: Calendar
    private var hasLooked = false
    /// When the caches were first open to others. A sign-in between then and the first look is news all the same.
    package var began: Date?
    /// The last change of a password that is known, by principal.
    var passwordChanges: [String: Date] = [:]
    /// When it was told last that a password expires, by principal.
    var expiryNotices: [String: Date] = [:]
    /// Why the last sign-out of each principal was ordered.
    var signOutReasons: [String: SignOutReason] = [:]
    /// What the next call of ``actions(at:)`` says before anything else.
    var pending: [Action] = []
    /// What happened since ``takeHappenings()``.
    var happenings: [SessionEvent] = []

    /// The longest wait, in seconds: what the wall clock does is seen at the next look.
    static let longestWait = 60.0
    /// How long before its end a session's end is told, in seconds.
    static let warningTime = 300.0
    /// How long a key that was refused is not sent again, in seconds.
    static let refusalPause = 300.0
    /// For so long a cache may be without its ticket while another program writes it, in seconds.
    static let absence = 1.0

    /// - Parameters:
    ///   - configurations: The profiles in force: their limits, and the realms of interest.
    ///   - backoff: How long to wait after failures.
    ///   - calendar: The calendar and time zone of `SignOutAt`.
    package init(
        _ configurations: [ExtensionConfiguration] = [],
        backoff: Backoff = Backoff(),
        calendar: Calendar = .autoupdatingCurrent
    ) {
        self.configurations = configurations
        self.backoff = backoff
        self.calendar = calendar
    }

    /// Takes over what a look at the caches showed.
    package mutating func observe(_ sessions: [SeenSession], at now: Moment) {
        for session in sessions {
            observe(session, at: now)
            notePasswordChange(session, isNews: hasLooked, at: now)
        }
        let present = Set(sessions.map(\.key))
        for key in entries.keys where !present.contains(key) { miss(key, at: now) }
        hasLooked = true
    }

    private mutating func observe(_ session: SeenSession, at now: Moment) {
        guard var entry = entries[session.key] else {
            var entry = Entry(session: session, seen: now, lastUse: now)
            // What was there at the start is news to nobody.
            entry.isExpiryTold = !hasLooked && session.ticket.expires <= now.wall
            entries[session.key] = entry
            if session.ticket.expires > now.wall {
                if hasLooked { tell(.gotNewCredential, session, at: now) }
                if hasLooked || isSinceBegin(session) { happenings.append(SessionEvent(.new, session)) }
            }
            return
        }
        entry.missingSince = nil
        if session.ticket != entry.session.ticket || entry.isRefreshed {
            entry.seen = now
            entry.isRefreshed = false
            entry.isStopped = false
            entry.failures = 0
            // By a clock that is far ahead this one is over too: no news.
            entry.isExpiryTold = entry.isExpiryTold && session.ticket.expires <= now.wall
            entry.isFailureTold = false
            if session.ticket.expires > now.wall {
                tell(.gotNewCredential, session, at: now)
                let isSameSignIn = session.signedInAt == entry.session.signedInAt
                happenings.append(SessionEvent(isSameSignIn ? .renewed : .new, session))
            }
            // A person has signed in, or somebody with a keytab; what was renewed is the same sign-in.
            if session.signedInAt != entry.session.signedInAt {
                entry.lastUse = now
                entry.isEnding = false
                entry.endOrdered = nil
            }
        }
        if !session.services.isSubset(of: entry.session.services) { entry.lastUse = now }
        entry.session = session
        entries[session.key] = entry
    }

    /// The KDC counts in seconds.
    private func isSinceBegin(_ session: SeenSession) -> Bool {
        began.map { session.signedInAt.timeIntervalSince1970 >= $0.timeIntervalSince1970.rounded(.down) } ?? false
    }

    /// A cache without its ticket: gone, or being written by a program that empties it first.
    private mutating func miss(_ key: SeenSession.Key, at now: Moment) {
        guard var entry = entries[key] else { return }
        let since = entry.missingSince ?? now.uptime
        guard entry.isEnding || now.uptime - since >= Self.absence else {
            entry.missingSince = since
            entries[key] = entry
            return
        }
        entries[key] = nil
        happenings.append(SessionEvent(.destroyed, entry.session))
        if !entries.keys.contains(where: { $0.principal == key.principal }) { tell(.signedOut, entry.session, at: now) }
    }

    /// Notes that a principal's tickets were used, which may be told late; nil is everybody's.
    package mutating func noteUse(of principal: String?, at moment: Moment) {
        for (key, entry) in entries where (principal ?? key.principal) == key.principal && entry.lastUse.uptime < moment.uptime {
            entries[key]?.lastUse = moment
        }
    }

    /// Takes over what a sign-out has ended; nil where it failed. The rest goes on; where a limit still says that it ends, and after a
    /// failure, the sign-out is tried again.
    package mutating func signOutFinished(_ principal: String, ended: Set<SeenSession.Key>?, at now: Moment) {
        for key in entries.keys where key.principal == principal && ended?.contains(key) != true {
            entries[key]?.isEnding = false
            // What is left then is other programs'.
            if ended != nil { entries[key]?.isProfileGone = false }
            entries[key]?.endNotBefore = now.uptime + Self.longestWait
        }
    }

    /// What is to be done now. What it says is taken as begun.
    package mutating func actions(at now: Moment) -> [Action] {
        for key in entries.keys.sorted(by: { ($0.principal, $0.cache) < ($1.principal, $1.cache) }) {
            noteExpiry(of: key, at: now)
            notePasswordExpiry(of: key, at: now)
            end(key, at: now)
            refresh(key, at: now)
        }
        probe(at: now)
        defer { pending = [] }
        return pending
    }

    /// What happened to the sessions since the last call, in order. What was there at the first look is no news.
    package mutating func takeHappenings() -> [SessionEvent] {
        defer { happenings = [] }
        return happenings
    }

    /// How long to wait for the next look, if nothing happens, in seconds.
    package func wait(at now: Moment) -> Double {
        var waits = [Self.longestWait]
        for entry in entries.values {
            if let since = entry.missingSince { waits.append(since + Self.absence - now.uptime) }
            waits.append(entry.session.ticket.expires.timeIntervalSince(now.wall))
            if let due = refreshDate(entry), entry.attempt == nil {
                waits.append(max(due.remaining(at: now), entry.notBefore - now.uptime))
            }
            if entry.isProfileGone, !entry.isEnding { waits.append(entry.endNotBefore - now.uptime) }
            if let end = end(of: entry, at: now), !entry.isEnding {
                waits.append(max(end.remaining(at: now), entry.endNotBefore - now.uptime))
                if entry.toldEnd != end.wall { waits.append(end.remaining(at: now) - Self.warningTime) }
            }
        }
        waits += realms.values.compactMap { $0.wait(at: now) }
        // What is over has been dealt with, or waits for an answer.
        return waits.filter { $0 > 0 }.min() ?? Self.longestWait
    }

    private mutating func noteExpiry(of key: SeenSession.Key, at now: Moment) {
        guard let entry = entries[key] else { return }
        let isOver = entry.session.ticket.expires <= now.wall
        if isOver, !entry.isExpiryTold { tell(.credentialExpired, entry.session, at: now) }
        // A clock that was wrong and is set right: the ticket holds again, and its end will be news.
        entries[key]?.isExpiryTold = isOver
    }

    mutating func tell(_ kind: AgentEvent.Kind, _ session: SeenSession, at now: Moment, date: Date? = nil) {
        pending.append(.send(AgentEvent(kind, realm: session.realm, principal: session.key.principal, date: date ?? now.wall)))
    }
}

extension SessionSchedule {
    /// Tells of a change of a password, once for all caches that say so.
    ///
    /// - Parameter isNews: Whether it can have happened since the last look.
    mutating func notePasswordChange(_ session: SeenSession, isNews: Bool, at now: Moment) {
        let principal = session.key.principal
        guard let changed = session.passwordChanged, passwordChanges[principal].map({ $0 < changed }) ?? true else { return }
        passwordChanges[principal] = changed
        if isNews { tell(.passwordChanged, session, at: now, date: changed) }
    }

    /// Tells that a password expires soon, at most once a day.
    mutating func notePasswordExpiry(of key: SeenSession.Key, at now: Moment) {
        guard let session = entries[key]?.session, let expires = session.passwordExpires,
            configurations.passwordRules(for: session.realm).isNoticeDue(expires: expires, now: now.wall)
        else { return }
        // A clock that was set back must not silence it for long.
        if let told = expiryNotices[key.principal], abs(now.wall.timeIntervalSince(told)) < 86_400 { return }
        expiryNotices[key.principal] = now.wall
        tell(.passwordExpiring, session, at: now, date: expires)
    }
}
