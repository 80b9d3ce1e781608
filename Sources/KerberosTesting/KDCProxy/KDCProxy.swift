public import Kerberos

/// An HTTPS server through which clients reach a realm's KDC (MS-KKDCP). Get one from ``withKDCProxy(realm:host:_:)``.
public struct KDCProxy: Sendable {
    /// What stands as `kdc` in krb5.conf, such as `https://localhost:40123/KdcProxy`.
    public let url: String
    /// The server's certificate, which signs itself: what stands as `http_anchors`, after `FILE:`.
    public let certificatePath: String
    /// A krb5.conf that names no other way to the KDC.
    public let configurationPath: String
    /// The realm's environment with that krb5.conf, for ``TestRealm/run(_:_:environment:input:clockOffset:deadline:)``.
    public let environment: [String: String]
    /// The realm as a value for `KerberosClient`, over that krb5.conf.
    public let configuration: RealmConfiguration
}

extension KDCProxy: CustomStringConvertible {
    /// The address.
    public var description: String { url }
}
