/// What an extension is asked to do.
public struct AuthorizationOperation: RawRepresentable, Sendable, Hashable, CustomStringConvertible {
    /// The stable name.
    public let rawValue: String

    /// Makes an operation; one that is not listed here is a later version's or a caller's own.
    public init(rawValue: String) { self.rawValue = rawValue }

    /// Answer a challenge.
    public static let implicit = AuthorizationOperation(rawValue: "implicit")
    /// Sign in, if nobody is: with what is at hand, or by asking where the request may.
    public static let login = AuthorizationOperation(rawValue: "login")
    /// Renew the ticket, or acquire it again: from its keytab, by a password that is kept, or by a certificate that wants no PIN. It asks
    /// nobody, whatever the request says.
    public static let refresh = AuthorizationOperation(rawValue: "refresh")
    /// Sign out.
    public static let logout = AuthorizationOperation(rawValue: "logout")

    /// The stable name.
    public var description: String { rawValue }
}
