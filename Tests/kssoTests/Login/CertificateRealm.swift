import KerberosTesting
import Testing

extension TestRealmOptions {
    /// A realm with alice, whose KDC and clients use libkrb5's plugin for certificates.
    static func acceptingCertificates() throws -> TestRealmOptions {
        let plugin = try #require(LoadableLibrary.pkinit)
        return TestRealmOptions(users: ["alice": "secret"], acceptsCertificates: true, pluginDirectory: "\(plugin.folder)/krb5/plugins")
    }
}
