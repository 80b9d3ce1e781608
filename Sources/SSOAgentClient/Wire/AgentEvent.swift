public import struct Foundation.Date

/// A change of a user's sessions, as reported by the agent (`GET /v1/events`).
///
/// The names of the kinds are those of the extension's notifications.
public struct AgentEvent: Sendable, Hashable, Codable {
    /// The kind of change.
    public struct Kind: RawRepresentable, Sendable, Hashable, Codable {
        /// The stable name, such as `gotNewCredential`.
        public let rawValue: String

        /// Creates a kind. A kind that is not listed here comes from a later version.
        public init(rawValue: String) { self.rawValue = rawValue }

        /// A principal has a new ticket-granting ticket: after a sign-in, a renewal or kinit.
        public static let gotNewCredential = Kind(rawValue: "gotNewCredential")
        /// A principal's ticket-granting ticket has expired.
        public static let credentialExpired = Kind(rawValue: "credentialExpired")
        /// A rule of the profile will end a session soon; ``AgentEvent/date`` says when.
        public static let sessionEnding = Kind(rawValue: "sessionEnding")
        /// A principal's password was changed with this project, by any program.
        public static let passwordChanged = Kind(rawValue: "passwordChanged")
        /// A principal's password expires soon; ``AgentEvent/date`` says when. Sent at most once a day.
        public static let passwordExpiring = Kind(rawValue: "passwordExpiring")
        /// The KDCs of a realm can be reached.
        public static let networkAvailable = Kind(rawValue: "networkAvailable")
        /// The KDCs of a realm cannot be reached.
        public static let networkNotAvailable = Kind(rawValue: "networkNotAvailable")
        /// A principal was signed out, by any program.
        public static let signedOut = Kind(rawValue: "signedOut")
    }

    /// The kind of change.
    public var kind: Kind
    /// The realm of the change.
    public var realm: String
    /// The affected principal; nil if the change concerns the whole realm.
    public var principal: String?
    /// When it happened; for ``Kind/sessionEnding`` and ``Kind/passwordExpiring`` when it will happen.
    public var date: Date

    /// Creates an event.
    public init(_ kind: Kind, realm: String, principal: String? = nil, date: Date) {
        self.kind = kind
        self.realm = realm
        self.principal = principal
        self.date = date
    }
}
