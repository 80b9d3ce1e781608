internal import HTTPNegotiate
package import Kerberos
internal import KerberosEngine

internal import struct Foundation.Date

extension SessionSchedule {
    /// Takes over how an attempt to get a session's ticket anew has ended.
    package mutating func refreshFinished(_ key: SeenSession.Key, _ outcome: RefreshOutcome, at now: Moment) {
        guard var entry = entries[key] else { return }
        entry.attempt = nil
        if outcome == .refreshed { entry.isWanted = false }
        switch outcome {
        case .refreshed:
            // It may have been seen in the cache already, and told of.
            entry.isRefreshed = entry.attempted == entry.session.ticket
            // A clock that is far ahead makes every ticket look old. It is not asked for again and again all the same.
            entry.notBefore = now.uptime + min(Self.longestWait, entry.session.ticket.lifetime / 3)
        case .unreachable, .failed, .gone:
            entry.failures += 1
            entry.notBefore = now.uptime + backoff.delay(afterFailures: entry.failures)
        case .needsPerson where entry.session.reacquisition != .key, .refused where entry.session.reacquisition == .none:
            entry.isStopped = true
        case .refused, .needsPerson:
            // A key that was changed comes with the keytab's next file, and a card is put back.
            entry.failures = 0
            entry.notBefore = now.uptime + Self.refusalPause
        case .abandoned: entry.notBefore = now.uptime
        }
        // A certificate that is refused or gone is not tried without end. Where no KDC answered, nothing was tried.
        if entry.isLastAttempt, outcome == .refused || outcome == .failed { entry.isStopped = true }
        // Somebody signed in meanwhile: that ticket's certificate was not tried.
        if entry.attempted != entry.session.ticket { entry.isStopped = false }
        // The failure of a ticket that was replaced in the meantime is not reported.
        let isFailure = [.unreachable, .failed, .refused, .needsPerson].contains(outcome) && entry.attempted == entry.session.ticket
        if isFailure, !entry.isFailureTold { happenings.append(SessionEvent(.failed, entry.session, reason: outcome)) }
        entry.isFailureTold = entry.isFailureTold || isFailure
        entries[key] = entry
        switch outcome {
        case .refreshed: note(entry.session.realm, isReachable: true, at: now)
        case .unreachable: note(entry.session.realm, isReachable: false, at: now)
        case .failed, .refused, .needsPerson, .gone, .abandoned: break
        }
    }

    mutating func refresh(_ key: SeenSession.Key, at now: Moment) {
        guard let entry = entries[key], entry.attempt == nil, !entry.isStopped, !entry.isEnding, entry.missingSince == nil,
            now.uptime >= entry.notBefore, let date = refreshDate(entry), date.isOver(at: now)
        else { return }
        // An end that is over can't be put off by renewing.
        let isOver = entry.session.ticket.expires <= now.wall
        if isOver, entry.session.reacquisition == .none { return }
        entries[key]?.attempt = now.uptime
        entries[key]?.attempted = entry.session.ticket
        entries[key]?.isLastAttempt = isOver && entry.session.reacquisition == .certificate
        pending.append(.refresh(key))
    }

    /// When a ticket is to be got anew: after two thirds of its life, or as the profile says. Nil when it can't be, or
    /// when it would end no later than it does.
    func refreshDate(_ entry: Entry) -> Deadline? {
        entry.isWanted || configurations.monitorsCredentials(of: entry.session.realm) ? dueDate(entry) : nil
    }

    /// The same, whoever sees to it.
    func dueDate(_ entry: Entry) -> Deadline? {
        let ticket = entry.session.ticket
        guard !entry.isStopped else { return nil }
        if entry.session.reacquisition == .none {
            guard let limit = ticket.renewUntil, limit > ticket.expires else { return nil }
        }
        let time = configurations.renewalTime(in: entry.session.realm, lifetime: ticket.lifetime)
        return Deadline(ticket.starts.addingTimeInterval(time), knownSince: entry.seen)
    }
}

/// What came of an attempt to get a session's ticket anew, as far as the next one depends on it.
package enum RefreshOutcome: String, Sendable, Hashable {
    /// There is another ticket.
    case refreshed
    /// No KDC answered.
    case unreachable
    /// It may go better another time.
    case failed
    /// The KDC has spoken, or there is nothing to try with: the same again soon helps nobody and may lock the account.
    case refused
    /// It can't go on without somebody who is asked.
    case needsPerson
    /// The session ended meanwhile.
    case gone
    /// It was given up to begin anew.
    case abandoned
}

extension RefreshOutcome {
    /// What a failure of the engine means.
    package init(_ error: KerberosError) {
        self =
            switch error.code {
            case .kdcUnreachable, .realmUnknown: .unreachable
            case .canceled: .abandoned
            // A KDC without its database says the same as one with another key, and comes back.
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

/// How long to wait before the next attempt: ever longer, up to a limit, and not all machines at the same moment.
package struct Backoff: Sendable {
    /// The wait after the first failure, in seconds.
    package var first: Double
    /// No wait is longer, in seconds.
    package var limit: Double
    /// A number from 0 up to 1, another one each time.
    package var jitter: @Sendable () -> Double

    package init(first: Double = 10, limit: Double = 300, jitter: @escaping @Sendable () -> Double = { .random(in: 0..<1) }) {
        self.first = first
        self.limit = limit
        self.jitter = jitter
    }

    /// The wait after so many failures in a row, in seconds: from a half of what is due to the whole.
    func delay(afterFailures count: Int) -> Double {
        var delay = first
        for _ in 1..<max(1, count) where delay < limit { delay *= 2 }
        return min(delay, limit) * (1 + jitter()) / 2
    }
}
