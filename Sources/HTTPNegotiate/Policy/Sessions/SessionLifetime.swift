/// When the sessions of a realm end although nobody signs out, for devices that several people share.
public struct SessionLimits: Sendable, Hashable {
    /// How long after its sign-in a session ends: `MaxSessionLifetime`.
    public var maximumLifetime: Duration?
    /// The time of day, by the machine's time zone, at which every session ends: `SignOutAt`.
    public var signOutAt: TimeOfDay?
    /// How long after its last use a session ends: `IdleSignOutAfter`.
    public var idleSignOutAfter: Duration?
    /// Whether they end when the user locks the screen: `SignOutOnLock`.
    public var signOutOnLock: Bool
    /// Whether they end with the last of the user's login sessions: `SignOutOnSessionEnd`.
    public var signOutOnSessionEnd: Bool
    /// The principals to which none of this applies, with or without their realm: `SignOutExempt`.
    public var exemptPrincipals: [String]

    /// Makes limits; what is left out is no limit.
    public init(
        maximumLifetime: Duration? = nil,
        signOutAt: TimeOfDay? = nil,
        idleSignOutAfter: Duration? = nil,
        signOutOnLock: Bool = false,
        signOutOnSessionEnd: Bool = false,
        exemptPrincipals: [String] = []
    ) {
        self.maximumLifetime = maximumLifetime
        self.signOutAt = signOutAt
        self.idleSignOutAfter = idleSignOutAfter
        self.signOutOnLock = signOutOnLock
        self.signOutOnSessionEnd = signOutOnSessionEnd
        self.exemptPrincipals = exemptPrincipals
    }

    /// A time of day.
    public struct TimeOfDay: Sendable, Hashable, CustomStringConvertible {
        /// From 0 to 23.
        public let hour: Int
        /// From 0 to 59.
        public let minute: Int

        /// Reads `18:00`: two digits, a colon, two digits; nil for anything else.
        public init?(_ text: String) {
            let bytes = Array(text.utf8)
            guard bytes.count == 5, bytes[2] == UInt8(ascii: ":") else { return nil }
            let digits = [0, 1, 3, 4].map { Int(bytes[$0]) - Int(UInt8(ascii: "0")) }
            guard digits.allSatisfy({ (0...9).contains($0) }) else { return nil }
            (hour, minute) = (digits[0] * 10 + digits[1], digits[2] * 10 + digits[3])
            guard hour < 24, minute < 60 else { return nil }
        }

        /// The time as it is read.
        public var description: String { (hour < 10 ? "0" : "") + "\(hour)" + (minute < 10 ? ":0" : ":") + "\(minute)" }
    }

    /// Whether none of this applies to a principal of a realm.
    public func exempts(_ principal: String, realm: String) -> Bool {
        exemptPrincipals.contains { $0 == principal || "\($0)@\(realm)" == principal }
    }
}

extension Sequence<ExtensionConfiguration> {
    /// After how much of its life a ticket of a realm is to be got anew: what the configurations say, the soonest of it; else two thirds.
    ///
    /// - Parameter lifetime: From the ticket's start to its end, in seconds.
    /// - Returns: Seconds from the ticket's start.
    package func renewalTime(in realm: String, lifetime: Double) -> Double {
        let fractions = lazy.filter { $0.realm == realm }.compactMap(\.usableRenewalFraction)
        return fractions.min().map { lifetime * $0 } ?? lifetime * 2 / 3
    }

    /// Whether an agent gets the tickets of a realm anew before a request needs them.
    package func monitorsCredentials(of realm: String) -> Bool { !contains { $0.realm == realm && !$0.monitorsCredentials } }
}

extension ExtensionConfiguration {
    /// With 0 or less each ticket would be due as soon as it has come, and the KDC would be asked without end.
    fileprivate var usableRenewalFraction: Double? {
        guard let renewalFraction, !renewalFraction.isNaN else { return nil }
        return Swift.min(Swift.max(renewalFraction, 0.1), 0.95)
    }
}
