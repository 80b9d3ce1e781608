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

    /// The same for a client whose clock is wrong, in whole seconds: it goes ahead or, where negative, behind.
    ///
    /// As with any wrong clock, libkrb5 goes by the KDC's once this has told it (`kdc_timesync`): with that relation set to `0` in
    /// ``TestRealmOptions/clientRelations`` it never does.
    public func configuration(clockOffset: Duration) -> RealmConfiguration {
        var configuration = configuration
        configuration.clockOffset = clockOffset
        return configuration
    }
}
