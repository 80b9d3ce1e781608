public import struct Foundation.Date

/// Something that happened to a user's sessions, as the agent tells it (`GET /v1/events`).
///
/// The names of the kinds are those of the extension's notifications.
public struct AgentEvent: Sendable, Hashable, Codable {
    /// What happened.
    public struct Kind: RawRepresentable, Sendable, Hashable, Codable {
        /// The stable name, such as `gotNewCredential`.
        public let rawValue: String

        /// Makes a kind; one that is not listed here is a later version's.
        public init(rawValue: String) { self.rawValue = rawValue }

        /// A principal has a new ticket-granting ticket: after a sign-in, a renewal, or a kinit.
        public static let gotNewCredential = Kind(rawValue: "gotNewCredential")
        /// A principal's ticket-granting ticket has expired.
        public static let credentialExpired = Kind(rawValue: "credentialExpired")
        /// A session will be ended soon by a rule of the profile; ``AgentEvent/date`` says when.
        public static let sessionEnding = Kind(rawValue: "sessionEnding")
        /// A principal's password was changed with this project, by whichever program.
        public static let passwordChanged = Kind(rawValue: "passwordChanged")
        /// A principal's password expires soon; ``AgentEvent/date`` says when. Told once a day at most.
        public static let passwordExpiring = Kind(rawValue: "passwordExpiring")
        /// The KDCs of a realm can be reached.
        public static let networkAvailable = Kind(rawValue: "networkAvailable")
        /// The KDCs of a realm can't be reached.
        public static let networkNotAvailable = Kind(rawValue: "networkNotAvailable")
        /// A principal was signed out, by whomever.
        public static let signedOut = Kind(rawValue: "signedOut")
    }

    /// What happened.
    public var kind: Kind
    /// The realm that it happened in.
    public var realm: String
    /// Whom it happened to; nil where it is the realm's own affair.
    public var principal: String?
    /// When it happened; for ``Kind/sessionEnding`` and ``Kind/passwordExpiring`` when it will.
    public var date: Date

    /// Makes an event.
    public init(_ kind: Kind, realm: String, principal: String? = nil, date: Date) {
        self.kind = kind
        self.realm = realm
        self.principal = principal
        self.date = date
    }
}
