import Foundation

/// A Kerberos realm of its own: a real MIT KDC with a database in a private temporary folder.
///
/// Get one from ``withTestRealm(_:_:)``, or from ``withExistingRealm(_:_:)`` for a realm that somebody else runs. It is a value; nothing of
/// it is process-wide, so that several realms live side by side. It is safe to use from any task until the closure that it was made for
/// returns.
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

    let files: RealmFiles
    /// The KDCs that the kit runs; nil where somebody else runs the realm's.
    let ownCenter: KeyDistributionCenter?

    init(files: RealmFiles, center: KeyDistributionCenter?, environment: [String: String]) {
        self.files = files
        ownCenter = center
        self.environment = environment
        name = files.options.name
        directory = files.directory
        configurationPath = files.clientPath
    }

    /// The KDCs and the database, for what only their owner may do.
    var center: KeyDistributionCenter {
        get throws {
            if let ownCenter { return ownCenter }
            let message =
                "\(name) is run by somebody else: its KDC and its database are not for a test to change. Use withTestRealm for that."
            throw KerberosTestingError(.notAdministered, message)
        }
    }

    /// Where the realm's servers listen: ``TestRealmOptions/address``.
    public var address: String { files.options.address }
    /// The KDC's port at ``address``, for UDP and TCP; the first one's if there are several.
    ///
    /// A realm that somebody else runs (``withExistingRealm(_:_:)``) has 0 here, which is no port: where its KDC is, only its krb5.conf
    /// knows.
    public var kdcPort: Int { kdcPorts.first ?? 0 }
    /// The ports of all the KDCs, in krb5.conf's order; none for a realm that somebody else runs. They stay the same until the realm ends.
    public var kdcPorts: [Int] { ownCenter?.ports ?? [] }
    /// The keytab with the keys of all the services.
    public var keytabPath: String { files.keytabPath }
}

extension TestRealm: CustomStringConvertible {
    /// The name, the address where the kit runs the KDC, and the folder.
    public var description: String { ownCenter == nil ? "\(name) in \(directory)" : "\(name) at \(address):\(kdcPort) in \(directory)" }
}
