import SignOnPolicy

/// The keys of this project that end sessions without a sign-out.
enum SessionLimitKey: String, Sendable, Hashable, CaseIterable {
    case maximumLifetime = "MaxSessionLifetime"
    case signOutAt = "SignOutAt"
    case idleSignOutAfter = "IdleSignOutAfter"
    case onLock = "SignOutOnLock"
    case onSessionEnd = "SignOutOnSessionEnd"
    case exempt = "SignOutExempt"

    /// The minimum time, in seconds. A smaller value was probably meant in minutes or hours, and would end sessions during the sign-in.
    static let leastTime = 60

    /// The limits that a payload's keys define. Faulty values are ignored.
    static func limits(in keys: [String: ProfileValue]) -> SessionLimits {
        func seconds(_ key: SessionLimitKey) -> Duration? {
            keys[key.rawValue]?.integer.flatMap { $0 >= leastTime ? .seconds($0) : nil }
        }
        return SessionLimits(
            maximumLifetime: seconds(.maximumLifetime),
            signOutAt: keys[signOutAt.rawValue]?.string.flatMap { SessionLimits.TimeOfDay($0) },
            idleSignOutAfter: seconds(.idleSignOutAfter),
            signOutOnLock: keys[onLock.rawValue]?.boolean ?? false,
            signOutOnSessionEnd: keys[onSessionEnd.rawValue]?.boolean ?? false,
            exemptPrincipals: keys[exempt.rawValue]?.strings ?? []
        )
    }
}

extension KeyChecker {
    static func sessionLimitFaults(_ value: ProfileValue, of key: SessionLimitKey) -> [Fault] {
        switch key {
        case .maximumLifetime, .idleSignOutAfter:
            guard let seconds = value.integer, seconds < SessionLimitKey.leastTime else { return [] }
            return [Fault(.badValue(reason: "found \(seconds), expected a time in seconds, \(SessionLimitKey.leastTime) or more"))]
        case .signOutAt:
            guard let text = value.string, SessionLimits.TimeOfDay(text) == nil else { return [] }
            return [Fault(.badValue(reason: "found \(text.debugDescription), expected a time of day such as 18:00, from 00:00 to 23:59"))]
        case .onLock, .onSessionEnd: return []
        case .exempt:
            return (value.strings ?? []).enumerated().compactMap { offset, text in
                principalFault(text).map { Fault($0, at: [.index(offset)]) }
            }
        }
    }
}

/// The key of this project that sets when tickets are renewed or reacquired.
enum RenewalKey {
    static let name = "RenewAtFraction"

    /// A smaller fraction would send requests to the KDC continually; with a larger one, a short outage of the KDC would end the session.
    static let range = 0.1...0.95

    /// The fraction that a payload's keys define. A faulty value is ignored.
    static func fraction(in keys: [String: ProfileValue]) -> Double? {
        keys[name]?.number.flatMap { range.contains($0) ? $0 : nil }
    }
}

extension KeyChecker {
    static func renewalFault(_ value: ProfileValue) -> KeyVerdict? {
        guard let number = value.number, !RenewalKey.range.contains(number) else { return nil }
        let (least, most) = (RenewalKey.range.lowerBound, RenewalKey.range.upperBound)
        return .badValue(reason: "found \(value), expected a fraction of the ticket's lifetime, from \(least) to \(most)")
    }
}
