/// The name of a credential cache, type and residual: `FILE:/tmp/krb5cc_1000`, `KCM:1000`, `KEYRING:persistent:1000`, `MEMORY:x`.
public struct CredentialCacheName: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
    /// The whole name.
    public let rawValue: String

    /// A name as `KRB5CCNAME` would hold it; one with no type is a file.
    public init(rawValue: String) {
        self.rawValue = rawValue.utf8.contains(Self.colon) ? rawValue : "FILE:\(rawValue)"
    }

    /// The type, in upper case: `FILE`, `DIR`, `MEMORY`, `KCM`, `KEYRING`.
    public var type: String { Substring(rawValue.utf8.prefix { $0 != Self.colon }).uppercased() }

    /// What stands after the type.
    public var residual: String { String(Substring(rawValue.utf8.drop { $0 != Self.colon }.dropFirst())) }

    /// libkrb5 goes by bytes: to Swift a colon with some characters beside it is no colon.
    private static let colon = UInt8(ascii: ":")

    /// Whether the name is that of a collection, and not of one cache in it: with `KRB5CCNAME=KCM:1000:2` libkrb5 sees that cache alone.
    public var isCollection: Bool {
        switch type {
        case "KCM": residual.isEmpty
        case "DIR": residual.utf8.first != Self.colon
        case "KEYRING": residual.utf8.count { $0 == Self.colon } == 1
        case "MEMORY": true
        default: false
        }
    }

    /// The path of a cache that is one file: a FILE cache, or one cache of a DIR collection (`DIR::/path`).
    public var path: String? {
        switch type {
        case "FILE": residual
        case "DIR" where residual.utf8.first == Self.colon: String(Substring(residual.utf8.dropFirst()))
        default: nil
        }
    }

    /// The name for messages: other programs choose names too, so whatever a terminal would act on is escaped.
    public var description: String { rawValue.escapedForDisplay() }
}
