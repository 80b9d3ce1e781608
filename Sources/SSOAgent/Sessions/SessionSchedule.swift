package import SSOAgentClient
package import SignOnPolicy

package import struct Foundation.Calendar
package import struct Foundation.Date

/// Decides when tickets are renewed, when failed attempts are retried, when sessions end, and which events are sent.
///
/// It reads no clock and has no side effects: its methods record what was observed and how attempts ended, and return the actions to
/// perform. Dates are tracked by both clocks (``Moment``), so that setting the wall clock or suspending the machine has little effect: a
/// date that passed unnoticed counts at the next look.
package struct SessionSchedule: Sendable {
    /// An action to perform.
    package enum Action: Sendable, Hashable {
        /// Replace the session's ticket, and report the outcome.
        case refresh(SessionSnapshot.Key)
        /// Cancel an attempt that waits for a reply that will not come; it is reported as abandoned.
        case abandon(SessionSnapshot.Key)
        /// Probe whether a KDC of the realm answers, and report the result. The probe may ask the KDC about the principal.
        case probe(realm: String, principal: String?)
        /// Sign out a principal, with or without the tickets that other programs acquired, and report the result.
        case signOut(principal: String, includingOthers: Bool)
        /// Read the session's account in the directory of its domain, and report the outcome.
        case readAccount(SessionSnapshot.Key)
        /// Send an event to all listeners.
        case send(AgentEvent)
        /// Run the administrator's program for a change of a session's ticket. Sessions that existed at the first look cause none.
        case report(SessionEvent)
    }

    /// A session and the state of its renewal and its sign-out.
    struct Entry {
        var session: SessionSnapshot
        /// When this ticket was first observed.
        var seen: Moment
        var lastUse: Moment
        /// The uptime at which the cache was first found without its ticket; nil if it has one.
        var missingSince: Double?
        var isExpiryReported = false
        var renewal = RenewalState()
        var reading = AccountReadingState()
        var signOut = SignOutState()
    }

    var entries: [SessionSnapshot.Key: Entry] = [:]
    /// The sessions whose attempts to replace the ticket have begun and not ended. A session may end meanwhile, and another begin in its
    /// cache.
    var keysRefreshing: Set<SessionSnapshot.Key> = []
    /// The principals whose sign-outs have begun and not ended. A session that begins meanwhile may end with the others.
    var principalsSigningOut: Set<String> = []
    var realms: [String: RealmReach] = [:]
    var rules: SessionRules
    var backoff: Backoff
    /// Whether the accounts of the sessions are read in the directories of their domains.
    let readsAccounts: Bool
    private var firstLook = FirstLook()
    private var passwords = PasswordNotices()
    /// Actions that the next call of ``actions(at:)`` returns first.
    var pending: [Action] = []

    /// The longest wait between looks, in seconds, because changes of the wall clock are noticed only at a look.
    static let longestWait = 60.0
    /// How long before a session's end the event is sent, in seconds.
    static let warningTime = 300.0
    /// How long a refused key is not sent again, in seconds.
    static let refusalPause = 300.0
    /// How long a cache may lack its ticket, in seconds, because another program may be writing it.
    static let absence = 1.0

    /// - Parameters:
    ///   - configurations: The active profiles, with their limits and realms.
    ///   - readsAccounts: Whether the accounts of the sessions are read in the directories of their domains.
    ///   - backoff: The pauses after failures.
    ///   - calendar: The calendar and time zone of `SignOutAt`.
    package init(
        _ configurations: [ExtensionConfiguration] = [],
        readsAccounts: Bool = false,
        backoff: Backoff = Backoff(),
        calendar: Calendar = .autoupdatingCurrent
    ) {
        rules = SessionRules(configurations: configurations, calendar: calendar)
        self.readsAccounts = readsAccounts
        self.backoff = backoff
    }

    /// When other programs could first use the caches. A sign-in between then and the first look counts as new.
    package var began: Date? {
        get { firstLook.began }
        set { firstLook.began = newValue }
    }

    /// Records the sessions that a look at the caches found.
    package mutating func observe(_ sessions: [SessionSnapshot], at now: Moment) {
        for session in sessions {
            observe(session, at: now)
            notePasswordChange(session, isNews: firstLook.isOver, at: now)
        }
        let present = Set(sessions.map(\.key))
        for key in entries.keys where !present.contains(key) { miss(key, at: now) }
        firstLook.isOver = true
    }

    private mutating func observe(_ session: SessionSnapshot, at now: Moment) {
        guard var entry = entries[session.key] else {
            var entry = Entry(session: session, seen: now, lastUse: now)
            // Sessions that exist at the start are not reported.
            entry.isExpiryReported = !firstLook.isOver && session.ticket.expires <= now.wall
            entries[session.key] = entry
            if session.ticket.expires > now.wall {
                if firstLook.isOver { report(.gotNewCredential, session, at: now) }
                if firstLook.isNew(session) { pending.append(.report(SessionEvent(.new, session))) }
            }
            return
        }
        entry.missingSince = nil
        if session.ticket != entry.session.ticket || entry.renewal.isRefreshed {
            entry.seen = now
            entry.renewal.isRefreshed = false
            entry.renewal.isStopped = false
            entry.renewal.failures = 0
            // With a clock that is far ahead, the new ticket is expired too, which is not reported again.
            entry.isExpiryReported = entry.isExpiryReported && session.ticket.expires <= now.wall
            entry.renewal.isFailureReported = false
            if session.ticket.expires > now.wall {
                report(.gotNewCredential, session, at: now)
                let isSameSignIn = session.signedInAt == entry.session.signedInAt
                pending.append(.report(SessionEvent(isSameSignIn ? .renewed : .new, session)))
            }
            // A person or a keytab has signed in. A renewal keeps the time of its sign-in.
            if session.signedInAt != entry.session.signedInAt {
                entry.lastUse = now
                entry.signOut.reason = nil
                entry.signOut.order = nil
                entry.reading.notBefore = -.infinity
            }
        }
        if !session.services.isSubset(of: entry.session.services) { entry.lastUse = now }
        entry.session = session
        entries[session.key] = entry
    }

    /// Handles a cache without its ticket: it is gone, or another program has emptied it to write it.
    private mutating func miss(_ key: SessionSnapshot.Key, at now: Moment) {
        guard var entry = entries[key] else { return }
        let since = entry.missingSince ?? now.uptime
        guard entry.signOut.isInProgress || now.uptime - since >= Self.absence else {
            entry.missingSince = since
            entries[key] = entry
            return
        }
        entries[key] = nil
        pending.append(.report(SessionEvent(.destroyed, entry.session)))
        if !entries.keys.contains(where: { $0.principal == key.principal }) { report(.signedOut, entry.session, at: now) }
    }

    /// Records a use of a principal's tickets, or of all tickets for nil. Uses may be recorded late.
    package mutating func noteUse(of principal: String?, at moment: Moment) {
        for (key, entry) in entries where (principal ?? key.principal) == key.principal && entry.lastUse.uptime < moment.uptime {
            entries[key]?.lastUse = moment
        }
    }

    /// Returns the actions that are due, and marks them as started.
    package mutating func actions(at now: Moment) -> [Action] {
        for key in entries.keys.sorted(by: { ($0.principal, $0.cache) < ($1.principal, $1.cache) }) {
            noteExpiry(of: key, at: now)
            notePasswordExpiry(of: key, at: now)
            end(key, at: now)
            refresh(key, at: now)
            readAccount(key, at: now)
        }
        probe(at: now)
        defer { pending = [] }
        return pending
    }

    /// The wait until the next look if nothing happens, in seconds.
    package func wait(at now: Moment) -> Double {
        var waits = [Self.longestWait]
        for entry in entries.values {
            if let since = entry.missingSince { waits.append(since + Self.absence - now.uptime) }
            waits.append(entry.session.ticket.expires.timeIntervalSince(now.wall))
            if let due = refreshDate(entry), !keysRefreshing.contains(entry.session.key) {
                waits.append(max(due.remaining(at: now), entry.renewal.notBefore - now.uptime))
            }
            if let wait = accountReadingWait(entry, at: now) { waits.append(wait) }
            if entry.signOut.isProfileGone, !entry.signOut.isInProgress { waits.append(entry.signOut.notBefore - now.uptime) }
            if let end = end(of: entry, at: now), !entry.signOut.isInProgress {
                waits.append(max(end.remaining(at: now), entry.signOut.notBefore - now.uptime))
                if entry.signOut.reportedEnd != end.wall { waits.append(end.remaining(at: now) - Self.warningTime) }
            }
        }
        waits += realms.values.compactMap { $0.wait(at: now) }
        // Dates that have passed have been handled, or wait for a result.
        return waits.filter { $0 > 0 }.min() ?? Self.longestWait
    }

    private mutating func noteExpiry(of key: SessionSnapshot.Key, at now: Moment) {
        guard let entry = entries[key] else { return }
        let isOver = entry.session.ticket.expires <= now.wall
        if isOver, !entry.isExpiryReported { report(.credentialExpired, entry.session, at: now) }
        // If a wrong clock is corrected, the ticket is valid again, and its expiry will be reported.
        entries[key]?.isExpiryReported = isOver
    }

    mutating func report(_ kind: AgentEvent.Kind, _ session: SessionSnapshot, at now: Moment, date: Date? = nil) {
        pending.append(.send(AgentEvent(kind, realm: session.realm, principal: session.key.principal, date: date ?? now.wall)))
    }
}

extension SessionSchedule {
    /// Reports a password change once for all caches that contain it.
    ///
    /// - Parameter isNews: Whether the change can have happened since the last look.
    private mutating func notePasswordChange(_ session: SessionSnapshot, isNews: Bool, at now: Moment) {
        guard let changed = passwords.takeChange(of: session), isNews else { return }
        report(.passwordChanged, session, at: now, date: changed)
    }

    /// Reports at most once a day that a password expires soon.
    private mutating func notePasswordExpiry(of key: SessionSnapshot.Key, at now: Moment) {
        guard let session = entries[key]?.session, let expires = session.passwordExpires,
            rules.configurations.passwordRules(for: session.realm).isNoticeDue(expires: expires, now: now.wall),
            passwords.takeNotice(for: key.principal, at: now.wall)
        else { return }
        report(.passwordExpiring, session, at: now, date: expires)
    }
}

/// Distinguishes the sessions that exist at the first look from those that begin later.
private struct FirstLook: Sendable {
    /// When other programs could first use the caches.
    var began: Date?
    var isOver = false

    /// Whether the session began since ``began``, which is rounded down because the KDC's times are in whole seconds.
    func isNew(_ session: SessionSnapshot) -> Bool {
        isOver || began.map { session.signedInAt.timeIntervalSince1970 >= $0.timeIntervalSince1970.rounded(.down) } ?? false
    }
}

/// What has been reported about the principals' passwords.
private struct PasswordNotices: Sendable {
    /// The last known password change by principal.
    private var changes: [String: Date] = [:]
    /// When the password's expiry was last reported, by principal.
    private var expiries: [String: Date] = [:]

    /// Returns when the session's password was changed, if that is not known yet.
    mutating func takeChange(of session: SessionSnapshot) -> Date? {
        let principal = session.key.principal
        guard let changed = session.passwordChanged, changes[principal].map({ $0 < changed }) ?? true else { return nil }
        changes[principal] = changed
        return changed
    }

    /// Whether the expiry was not reported within the last day; records a report in that case.
    mutating func takeNotice(for principal: String, at now: Date) -> Bool {
        // Setting the clock back must not suppress the report for long.
        if let reported = expiries[principal], abs(now.timeIntervalSince(reported)) < 86_400 { return false }
        expiries[principal] = now
        return true
    }
}
