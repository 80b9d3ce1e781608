import Foundation

/// A Kerberos realm of its own: a real MIT KDC on loopback with a database in a private temporary folder.
///
/// Get one from ``withTestRealm(_:_:)``. It is a value; nothing of it is process-wide, so that several realms live side by side.
/// It is safe to use from any task until the closure that it was made for returns.
public struct TestRealm: Sendable {
    /// The realm of the test or closure that runs now, if there is one.
    @TaskLocal public static var current: TestRealm?

    /// The realm's name, such as `EXAMPLE.TEST`.
    public let name: String
    /// The private folder (mode 0700) that holds the database, the configuration, keytabs and caches; it goes with the realm.
    public let directory: String
    /// The realm's krb5.conf.
    public let configurationPath: String
    /// The environment in which krb5 programs see this realm only: this process's own, with `KRB5_CONFIG`, `KRB5_KDC_PROFILE`,
    /// `KRB5CCNAME`, `KRB5_KTNAME`, `KRB5_CLIENT_KTNAME`, `KRB5RCACHENAME` and `KRB5RCACHEDIR` replaced.
    public let environment: [String: String]

    let center: KeyDistributionCenter

    init(center: KeyDistributionCenter, environment: [String: String]) {
        self.center = center
        self.environment = environment
        name = center.configuration.options.name
        directory = center.configuration.directory
        configurationPath = center.configuration.clientPath
    }

    /// The KDC's TCP port on 127.0.0.1.
    public var kdcPort: Int { center.ports.tcp ?? 0 }
    /// The KDC's UDP port on 127.0.0.1.
    public var kdcUDPPort: Int { center.ports.udp ?? 0 }
    /// The keytab with the keys of all the services.
    public var keytabPath: String { center.configuration.keytabPath }
}

extension TestRealm: CustomStringConvertible {
    /// The name, the address and the folder.
    public var description: String { "\(name) at 127.0.0.1:\(kdcPort) in \(directory)" }
}
