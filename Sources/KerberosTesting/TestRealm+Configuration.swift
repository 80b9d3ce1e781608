public import Kerberos

extension TestRealm {
    /// The realm as a value for `KerberosClient`, over the realm's own krb5.conf and nothing of the machine's.
    ///
    /// The default cache is the one that the programs run in the realm's environment use too.
    public var configuration: RealmConfiguration {
        RealmConfiguration(realm: name, base: .files([configurationPath]), defaultCacheName: "FILE:\(directory)/ccache")
    }

    /// The same, with another default cache.
    public func configuration(defaultCacheName: String) -> RealmConfiguration {
        var configuration = configuration
        configuration.defaultCacheName = defaultCacheName
        return configuration
    }
}
