package import Kerberos
internal import KerberosEngine
internal import SignOnPolicy

internal import struct Foundation.Date

extension SessionSchedule {
    /// Records the outcome of an attempt to replace a session's ticket.
    package mutating func refreshFinished(_ key: SessionSnapshot.Key, _ outcome: RefreshOutcome, at now: Moment) {
        keysRefreshing.remove(key)
        guard var entry = entries[key] else { return }
        let isPresentTicket = entry.renewal.attempt?.ticket == entry.session.ticket
        entry.renewal.attempt?.isOver = true
        if outcome == .refreshed { entry.renewal.isWanted = false }
        switch outcome {
        case .refreshed:
            // The new ticket may have been observed in the cache and reported already.
            entry.renewal.isRefreshed = isPresentTicket
            // With a clock that is far ahead, every ticket looks old. This limit prevents renewing in a loop.
            entry.renewal.notBefore = now.uptime + min(Self.longestWait, entry.session.ticket.lifetime / 3)
        case .unreachable, .failed, .busy, .gone:
            entry.renewal.failures += 1
            entry.renewal.notBefore = now.uptime + backoff.delay(afterFailures: entry.renewal.failures)
        case .needsPerson where entry.session.reacquisition != .key, .refused where entry.session.reacquisition == .none:
            entry.renewal.isStopped = true
        case .refused, .needsPerson:
            // A changed key comes with a new keytab file, and a removed smart card can be inserted again.
            entry.renewal.failures = 0
            entry.renewal.notBefore = now.uptime + Self.refusalPause
        case .abandoned: entry.renewal.notBefore = now.uptime
        }
        // A certificate that is refused or missing is not retried endlessly. If no KDC answered, nothing was tried.
        if entry.renewal.attempt?.isLast == true, outcome == .refused || outcome == .failed { entry.renewal.isStopped = true }
        // The principal has signed in meanwhile, and that ticket's certificate has not been tried.
        if !isPresentTicket { entry.renewal.isStopped = false }
        // The failure for a ticket that was replaced meanwhile is not reported.
        let isFailure = [.unreachable, .failed, .refused, .needsPerson].contains(outcome) && isPresentTicket
        if isFailure, !entry.renewal.isFailureReported { pending.append(.report(SessionEvent(.failed, entry.session, reason: outcome))) }
        entry.renewal.isFailureReported = entry.renewal.isFailureReported || isFailure
        entries[key] = entry
        switch outcome {
        case .refreshed: note(entry.session.realm, isReachable: true, at: now)
        case .unreachable: note(entry.session.realm, isReachable: false, at: now)
        case .failed, .busy, .refused, .needsPerson, .gone, .abandoned: break
        }
    }

    mutating func refresh(_ key: SessionSnapshot.Key, at now: Moment) {
        guard let entry = entries[key], !keysRefreshing.contains(key), !entry.renewal.isStopped,
            !principalsSigningOut.contains(key.principal), !entry.signOut.isInProgress,
            entry.missingSince == nil, now.uptime >= entry.renewal.notBefore, let date = refreshDate(entry), date.isOver(at: now)
        else { return }
        // An expired ticket cannot be renewed.
        let isOver = entry.session.ticket.expires <= now.wall
        if isOver, entry.session.reacquisition == .none { return }
        let isLast = isOver && entry.session.reacquisition == .certificate
        entries[key]?.renewal.attempt = RenewalState.Attempt(begun: now.uptime, ticket: entry.session.ticket, isLast: isLast)
        keysRefreshing.insert(key)
        pending.append(.refresh(key))
    }

    /// The date at which the agent replaces a ticket: after two thirds of its lifetime, or as the profile says. Nil if the ticket cannot be
    /// replaced, if a renewal would not extend it, or if the profile leaves it to the requests.
    func refreshDate(_ entry: Entry) -> Deadline? {
        entry.renewal.isWanted || rules.configurations.monitorsCredentials(of: entry.session.realm) ? dueDate(entry) : nil
    }

    /// The same date, even if the profile leaves the renewal to the requests.
    func dueDate(_ entry: Entry) -> Deadline? {
        let ticket = entry.session.ticket
        guard !entry.renewal.isStopped else { return nil }
        if entry.session.reacquisition == .none {
            guard let limit = ticket.renewUntil, limit > ticket.expires else { return nil }
        }
        let time = rules.configurations.renewalTime(in: entry.session.realm, lifetime: ticket.lifetime)
        return Deadline(ticket.starts.addingTimeInterval(time), knownSince: entry.seen)
    }
}

/// The state of a ticket's renewal.
struct RenewalState: Sendable {
    /// An attempt to replace a ticket.
    struct Attempt: Sendable {
        /// The uptime at which it began.
        let begun: Double
        /// The ticket to replace.
        let ticket: SessionSnapshot.Ticket
        /// Whether it uses a certificate and began after its ticket expired: no other attempt follows it.
        let isLast: Bool
        var isOver = false
    }

    /// The last attempt.
    var attempt: Attempt?
    var failures = 0
    /// The uptime before which no attempt starts.
    var notBefore = -Double.infinity
    /// Whether the network has changed since the renewal was due, for profiles that leave renewals to the requests.
    var isWanted = false
    /// Whether a refresh has succeeded: the next look finds another ticket, which may have the same times.
    var isRefreshed = false
    /// Whether nothing is left to try, so that a person has to sign in. Reset when another ticket is observed.
    var isStopped = false
    /// Whether the failure to renew this ticket was reported.
    var isFailureReported = false

    /// Whether an attempt is in progress.
    var isInProgress: Bool { attempt?.isOver == false }
}

/// The outcome of an attempt to replace a session's ticket, as far as the next attempt depends on it.
package enum RefreshOutcome: String, Sendable, Hashable {
    /// The ticket was replaced.
    case refreshed
    /// No KDC answered.
    case unreachable
    /// The attempt failed for a reason that may pass.
    case failed
    /// Another sign-in uses the smart card.
    case busy
    /// The KDC refused, or there is no credential to try. Repeating the attempt soon is useless and may lock the account.
    case refused
    /// The attempt requires a prompt.
    case needsPerson
    /// The session ended meanwhile.
    case gone
    /// The attempt was canceled so that a new one can start.
    case abandoned
}

extension RefreshOutcome {
    /// Classifies an error of the engine.
    package init(_ error: KerberosError) {
        self =
            switch error.code {
            case .kdcUnreachable, .realmUnknown: .unreachable
            case .canceled: .abandoned
            case .busy: .busy
            // A KDC without its database reports the same error as one with another key, but recovers.
            case .ticketRefused where error.isGeneric: .failed
            case .notInteractive: .needsPerson
            case .wrongPassword, .accountLocked, .accountExpired, .passwordExpired, .unknownPrincipal, .policyRefused,
                .encryptionTypeRefused, .preauthenticationRefused, .notRenewable, .ticketExpired, .ticketRefused, .certificateRefused,
                .noCredentials:
                .refused
            default: .failed
            }
    }
}

/// The pause before the next attempt, which grows up to a limit and varies randomly, so that not all machines retry at once.
package struct Backoff: Sendable {
    /// The wait after the first failure, in seconds.
    package var first: Double
    /// The longest pause, in seconds.
    package var limit: Double
    /// Returns a random number from 0 up to, but not including, 1.
    package var jitter: @Sendable () -> Double

    package init(first: Double = 10, limit: Double = 300, jitter: @escaping @Sendable () -> Double = { .random(in: 0..<1) }) {
        self.first = first
        self.limit = limit
        self.jitter = jitter
    }

    /// The pause after this many consecutive failures, in seconds: between half and all of the exponential delay.
    func delay(afterFailures count: Int) -> Double {
        var delay = first
        for _ in 1..<max(1, count) where delay < limit { delay *= 2 }
        return min(delay, limit) * (1 + jitter()) / 2
    }
}
