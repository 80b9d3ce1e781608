/// The realms that lead from one realm to another with which it shares no key (`[capaths]` of krb5.conf).
public struct RealmPath: Sendable, Hashable {
    /// The realm of the users.
    public var from: String
    /// The realm of the services.
    public var to: String
    /// The realms between, in order.
    public var through: [String]

    /// Describes a path; each step needs a ``RealmTrust``.
    public init(from: String, to: String, through: [String]) {
        self.from = from
        self.to = to
        self.through = through
    }
}
