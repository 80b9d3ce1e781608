/// A realm that somebody else runs, and what a test has to know of it.
public struct ExistingRealm: Sendable, Hashable {
    /// The realm's name, such as `AD.EXAMPLE`.
    public var name: String
    /// A krb5.conf by which clients find its KDC.
    public var configurationPath: String
    /// A keytab with the keys of the services that tests run, such as `HTTP/localhost`.
    public var keytabPath: String

    /// Describes a realm; nothing is read yet.
    public init(_ name: String, configurationPath: String, keytabPath: String) {
        self.name = name
        self.configurationPath = configurationPath
        self.keytabPath = keytabPath
    }
}
