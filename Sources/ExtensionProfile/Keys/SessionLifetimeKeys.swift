import HTTPNegotiate

/// The keys of our own that end sessions although nobody signs out.
enum SessionLimitKey: String, Sendable, Hashable, CaseIterable {
    case maximumLifetime = "MaxSessionLifetime"
    case signOutAt = "SignOutAt"
    case idleSignOutAfter = "IdleSignOutAfter"
    case onLock = "SignOutOnLock"
    case onSessionEnd = "SignOutOnSessionEnd"
    case exempt = "SignOutExempt"

    /// In seconds. What is less was meant in minutes or hours, and would sign people out while they sign in.
    static let leastTime = 60

    /// What the keys of a payload say; values with a fault say nothing.
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

/// The key of our own that says when tickets are got anew.
enum RenewalKey {
    static let name = "RenewAtFraction"

    /// Sooner the KDC would be asked without end; later a KDC that is away for a while would end the session.
    static let range = 0.1...0.95

    /// What the keys of a payload say; a value with a fault says nothing.
    static func fraction(in keys: [String: ProfileValue]) -> Double? {
        keys[name]?.number.flatMap { range.contains($0) ? $0 : nil }
    }
}

extension KeyChecker {
    static func renewalFault(_ value: ProfileValue) -> KeyVerdict? {
        guard let number = value.number, !RenewalKey.range.contains(number) else { return nil }
        let (least, most) = (RenewalKey.range.lowerBound, RenewalKey.range.upperBound)
        return .badValue(reason: "found \(value), expected a part of the ticket's life, from \(least) to \(most)")
    }
}
