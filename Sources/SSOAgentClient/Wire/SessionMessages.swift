public import struct Foundation.Date

/// The body of `POST /v1/login`. It holds a secret: it is never described, and goes over a socket of the user's own alone.
package struct LoginRequest: Codable, Sendable {
    package var principal: String?
    package var realm: String?
    /// The password, which is sent to the KDC once; or ``keytab`` or ``certificate``.
    package var password: String?
    /// The path of a keytab.
    package var keytab: String?
    /// A certificate, as libkrb5 names it; `default` is the configured one.
    package var certificate: String?
    /// The certificate's PIN.
    package var pin: String?
    /// How long the ticket shall hold, in seconds.
    package var lifetime: Int?
    /// How long it shall be renewable, in seconds.
    package var renewableLifetime: Int?

    package init(
        principal: String? = nil,
        realm: String? = nil,
        password: String? = nil,
        keytab: String? = nil,
        certificate: String? = nil,
        pin: String? = nil,
        lifetime: Int? = nil,
        renewableLifetime: Int? = nil
    ) {
        self.principal = principal
        self.realm = realm
        self.password = password
        self.keytab = keytab
        self.certificate = certificate
        self.pin = pin
        self.lifetime = lifetime
        self.renewableLifetime = renewableLifetime
    }
}

extension LoginRequest: CustomStringConvertible, CustomReflectable {
    /// Never the password, nor the PIN.
    package var description: String { "a sign-in" }
    /// Never the password.
    package var customMirror: Mirror { Mirror(self, children: []) }
}

/// The body of `POST /v1/refresh` and `POST /v1/logout`: whose sessions.
package struct SessionSelection: Codable, Sendable {
    /// A principal; nil is everybody of the realm.
    package var principal: String?
    /// A realm; nil is every realm.
    package var realm: String?
    /// For a sign-out: tickets that others acquired as well.
    package var all: Bool?

    package init(principal: String? = nil, realm: String? = nil, all: Bool? = nil) {
        self.principal = principal
        self.realm = realm
        self.all = all
    }
}

/// The answer to `POST /v1/login` and `POST /v1/refresh`.
package struct SessionsReply: Codable, Sendable {
    /// The sessions as they are now.
    package var sessions: [StatusDocument.Session]
    /// What stood in the way of refreshing others.
    package var problems: [AgentProblem]?

    package init(sessions: [StatusDocument.Session], problems: [AgentProblem]? = nil) {
        self.sessions = sessions
        self.problems = problems
    }
}

/// The body of `POST /v1/password`. It holds secrets: it is never described, and goes over a socket of the user's own alone.
package struct PasswordRequest: Codable, Sendable {
    package var principal: String?
    package var realm: String?
    /// The current password, which is sent to the KDC once.
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
    /// Never the passwords.
    package var description: String { "a change of a password" }
    /// Never the passwords.
    package var customMirror: Mirror { Mirror(self, children: []) }
}

/// The answer to `POST /v1/password`.
public struct PasswordChangeDocument: Codable, Sendable, Hashable {
    /// Whose password was changed.
    public var principal: String
    /// When.
    public var passwordChanged: Date
    /// When the new one expires; left out where nobody says so, and where it never does.
    public var passwordExpires: Date?

    /// Makes a document.
    public init(principal: String, passwordChanged: Date, passwordExpires: Date?) {
        self.principal = principal
        self.passwordChanged = passwordChanged
        self.passwordExpires = passwordExpires
    }
}

/// The answer to `POST /v1/logout`.
public struct SignOutDocument: Codable, Sendable, Hashable {
    /// The principals that were signed out.
    public var ended: [String]
    /// The principals whose tickets another program acquired, and which were therefore left.
    public var left: [String]

    /// Makes a document.
    public init(ended: [String], left: [String]) {
        self.ended = ended
        self.left = left
    }
}
