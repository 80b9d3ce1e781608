public import Kerberos

public import struct Foundation.Date

/// A password that was changed.
public struct PasswordChange: Sendable, Hashable {
    /// Whose.
    public let principal: Principal
    /// When, by this machine's clock.
    public let changed: Date
    /// When the new one expires; nil where nobody says so, and where it never does.
    public let expires: Date?
}
