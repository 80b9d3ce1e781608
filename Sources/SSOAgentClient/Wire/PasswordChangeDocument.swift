public import struct Foundation.Date

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
