internal import struct Foundation.Date

extension SessionSchedule {
    /// The time between two successful readings of an account, in seconds.
    static let accountLifetime = 4 * 3600.0
    /// The time from a failed reading to the next, in seconds.
    static let failedReadingPause = 1800.0
    /// The shortest time between two readings, in seconds. It applies while a password change has not reached the controller.
    static let readingPause = 300.0

    /// Records the outcome of reading an account.
    package mutating func accountReadingFinished(_ key: SessionSnapshot.Key, _ outcome: AccountReadingOutcome, at now: Moment) {
        guard var entry = entries[key] else { return }
        entry.reading.isInProgress = false
        let pause =
            switch outcome {
            case .read: Self.readingPause
            case .noDirectory: Self.accountLifetime
            case .failed: Self.failedReadingPause
            }
        entry.reading.notBefore = now.uptime + pause
        entries[key] = entry
    }

    mutating func readAccount(_ key: SessionSnapshot.Key, at now: Moment) {
        guard let entry = entries[key], let wait = accountReadingWait(entry, at: now), wait <= 0 else { return }
        entries[key]?.reading.isInProgress = true
        pending.append(.readAccount(key))
    }

    /// The seconds until a session's account is read next; nil if it is not.
    func accountReadingWait(_ entry: Entry, at now: Moment) -> Double? {
        guard readsAccounts, !entry.reading.isInProgress, !entry.signOut.isInProgress, entry.missingSince == nil,
            entry.session.ticket.expires > now.wall
        else { return nil }
        // After a correction of the clock, the date may be in the future.
        let age = entry.session.accountRead.map { now.wall.timeIntervalSince($0) }
        let due = if let age, age >= 0 { Self.accountLifetime - age } else { 0.0 }
        return max(due, entry.reading.notBefore - now.uptime)
    }
}

/// The state of reading a session's account.
struct AccountReadingState: Sendable {
    var isInProgress = false
    /// The uptime before which the directory is not read again.
    var notBefore = -Double.infinity

    /// Ends a pause at this uptime, if it is not over earlier.
    mutating func retry(by uptime: Double) { notBefore = min(notBefore, uptime) }
}

/// The outcome of reading an account.
package enum AccountReadingOutcome: Sendable, Hashable {
    /// The directory was read.
    case read
    /// The realm is not an Active Directory domain.
    case noDirectory
    /// The directory could not be read.
    case failed
}
