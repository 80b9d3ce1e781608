/// When the sessions of a realm end without a sign-out, for devices that several people share.
public struct SessionLimits: Sendable, Hashable, Codable {
    /// How long after its sign-in a session ends: `MaxSessionLifetime`.
    public var maximumLifetime: Duration?
    /// The time of day, in the machine's time zone, at which all sessions end: `SignOutAt`.
    public var signOutAt: TimeOfDay?
    /// How long after its last use a session ends: `IdleSignOutAfter`.
    public var idleSignOutAfter: Duration?
    /// Whether sessions end when the user locks the screen: `SignOutOnLock`.
    public var signOutOnLock: Bool
    /// Whether sessions end with the user's last login session: `SignOutOnSessionEnd`.
    public var signOutOnSessionEnd: Bool
    /// The principals that are exempt, with or without their realm: `SignOutExempt`.
    public var exemptPrincipals: [String]

    /// Creates limits; the defaults set none.
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

        /// Parses `18:00`: two digits, a colon, two digits; nil for anything else.
        public init?(_ text: String) {
            let bytes = Array(text.utf8)
            guard bytes.count == 5, bytes[2] == UInt8(ascii: ":") else { return nil }
            let digits = [0, 1, 3, 4].map { Int(bytes[$0]) - Int(UInt8(ascii: "0")) }
            guard digits.allSatisfy({ (0...9).contains($0) }) else { return nil }
            (hour, minute) = (digits[0] * 10 + digits[1], digits[2] * 10 + digits[3])
            guard hour < 24, minute < 60 else { return nil }
        }

        /// The time in the form `18:00`.
        public var description: String { (hour < 10 ? "0" : "") + "\(hour)" + (minute < 10 ? ":0" : ":") + "\(minute)" }
    }

    private enum CodingKeys: CodingKey {
        case maximumLifetime, signOutAt, idleSignOutAfter, signOutOnLock, signOutOnSessionEnd, exemptPrincipals
    }

    /// Decodes limits, with durations in seconds. A missing key has its default.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        self.init(
            maximumLifetime: try container.decodeSeconds(.maximumLifetime),
            idleSignOutAfter: try container.decodeSeconds(.idleSignOutAfter)
        )
        try container.decode(.signOutAt, into: &signOutAt)
        try container.decode(.signOutOnLock, into: &signOutOnLock)
        try container.decode(.signOutOnSessionEnd, into: &signOutOnSessionEnd)
        try container.decode(.exemptPrincipals, into: &exemptPrincipals)
    }

    /// Encodes the limits, with durations in seconds.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encodeIfPresent(maximumLifetime.map { $0 / .seconds(1) }, forKey: .maximumLifetime)
        try container.encodeIfPresent(signOutAt, forKey: .signOutAt)
        try container.encodeIfPresent(idleSignOutAfter.map { $0 / .seconds(1) }, forKey: .idleSignOutAfter)
        try container.encode(signOutOnLock, forKey: .signOutOnLock)
        try container.encode(signOutOnSessionEnd, forKey: .signOutOnSessionEnd)
        try container.encode(exemptPrincipals, forKey: .exemptPrincipals)
    }

    /// Whether a principal of a realm is exempt from the limits.
    public func exempts(_ principal: String, realm: String) -> Bool {
        exemptPrincipals.contains { $0 == principal || "\($0)@\(realm)" == principal }
    }
}

extension Sequence<ExtensionConfiguration> {
    /// When to renew or reacquire a ticket of a realm: after the smallest fraction of its lifetime in the configurations, else two thirds.
    ///
    /// - Parameter lifetime: From the ticket's start to its end, in seconds.
    /// - Returns: Seconds from the ticket's start.
    package func renewalTime(in realm: String, lifetime: Double) -> Double {
        let fractions = lazy.filter { $0.realm == realm }.compactMap(\.usableRenewalFraction)
        return fractions.min().map { lifetime * $0 } ?? lifetime * 2 / 3
    }

    /// Whether an agent renews or reacquires the tickets of a realm before a request needs them.
    package func monitorsCredentials(of realm: String) -> Bool { !contains { $0.realm == realm && !$0.monitorsCredentials } }
}

extension ExtensionConfiguration {
    /// With 0 or less each new ticket would be due at once, and the KDC would be asked in an endless loop.
    fileprivate var usableRenewalFraction: Double? {
        guard let renewalFraction, !renewalFraction.isNaN else { return nil }
        return Swift.min(Swift.max(renewalFraction, 0.1), 0.95)
    }
}
