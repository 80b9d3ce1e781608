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
