public import struct Foundation.Date

/// The body of `POST /v1/refresh` and `POST /v1/logout`: the sessions that are selected.
package struct SessionSelection: Codable, Sendable {
    /// The principal; nil means all principals of the realm.
    package var principal: String?
    /// The realm; nil means every realm.
    package var realm: String?
    /// For a sign-out, whether to destroy tickets acquired by other programs as well.
    package var all: Bool?

    package init(principal: String? = nil, realm: String? = nil, all: Bool? = nil) {
        self.principal = principal
        self.realm = realm
        self.all = all
    }
}

/// The response to `POST /v1/login` and `POST /v1/refresh`.
package struct SessionsReply: Codable, Sendable {
    /// The sessions after the operation.
    package var sessions: [StatusDocument.Session]
    /// The failures of the sessions that could not be refreshed.
    package var problems: [AgentProblem]?

    package init(sessions: [StatusDocument.Session], problems: [AgentProblem]? = nil) {
        self.sessions = sessions
        self.problems = problems
    }
}

/// The body of `POST /v1/password`. Because it contains secrets, its description is redacted, and it is sent only over a socket of the
/// user's own.
package struct PasswordRequest: Codable, Sendable {
    package var principal: String?
    package var realm: String?
    /// The current password, used for one attempt at the KDC.
    package var password: String
    package var newPassword: String

    package init(principal: String? = nil, realm: String? = nil, password: String, newPassword: String) {
        self.principal = principal
        self.realm = realm
        self.password = password
        self.newPassword = newPassword
    }
}

extension PasswordRequest: CustomStringConvertible, CustomReflectable {
    /// A text without the passwords.
    package var description: String { "a password change" }
    /// A mirror without the passwords.
    package var customMirror: Mirror { Mirror(self, children: []) }
}

/// The response to `POST /v1/password`.
public struct PasswordChangeDocument: Codable, Sendable, Hashable {
    /// The principal whose password was changed.
    public var principal: String
    /// When the password was changed.
    public var passwordChanged: Date
    /// When the new password expires; absent if it is not known or the password never expires.
    public var passwordExpires: Date?

    /// Creates a document.
    public init(principal: String, passwordChanged: Date, passwordExpires: Date?) {
        self.principal = principal
        self.passwordChanged = passwordChanged
        self.passwordExpires = passwordExpires
    }
}

/// The response to `POST /v1/logout`.
public struct SignOutDocument: Codable, Sendable, Hashable {
    /// The principals that were signed out.
    public var ended: [String]
    /// The principals that stay signed in, because another program acquired their tickets.
    public var left: [String]

    /// Creates a document.
    public init(ended: [String], left: [String]) {
        self.ended = ended
        self.left = left
    }
}
