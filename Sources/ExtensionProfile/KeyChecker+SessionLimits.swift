import HTTPNegotiate

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
