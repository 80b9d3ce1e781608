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
