internal import HTTPNegotiate
internal import SSOAgentClient

internal import struct Foundation.Date

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
