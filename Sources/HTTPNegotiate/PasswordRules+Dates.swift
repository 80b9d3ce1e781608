public import struct Foundation.Date

extension PasswordRules {
    private static let day = 86_400.0

    /// When a password expires: by the profile where it says so and the last change is known, else by the KDC.
    ///
    /// - Parameters:
    ///   - announced: What the KDC has said.
    ///   - changed: When the password was changed last; nil where nobody knows.
    public func expiry(announced: Date?, changed: Date?) -> Date? {
        guard let expireOverride, let changed else { return announced }
        return changed.addingTimeInterval(Double(expireOverride) * Self.day)
    }

    /// From when on a password may be changed; nil where it may be at any time, and where the last change is not known.
    public func earliestChange(changed: Date?) -> Date? {
        guard let minimumAge, let changed else { return nil }
        return changed.addingTimeInterval(Double(minimumAge) * Self.day)
    }

    /// Whether it is time to tell that a password expires.
    public func isNoticeDue(expires: Date, now: Date) -> Bool {
        givesNotices && expires > now && expires.timeIntervalSince(now) <= Double(notificationDays) * Self.day
    }
}
