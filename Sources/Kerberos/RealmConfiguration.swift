/// Everything libkrb5 must know of a realm, as a value: it becomes the profile of one context, over the system's krb5.conf.
///
/// Nothing process-wide is touched, so realms with different KDCs live side by side in one process.
public struct RealmConfiguration: Sendable, Hashable {
    /// The realm, in its exact spelling.
    public var realm: String
    /// KDCs that are tried before those of krb5.conf, in krb5.conf's syntax: `host`, `host:port`, `[v6]:port`, `https://host/path`.
    public var preferredKDCs: [String]
    /// The same for other realms, which trusts and referrals lead to.
    public var otherKDCs: [String: [String]]
    /// Which realm a host or a `.suffix` belongs to, ahead of krb5.conf's `[domain_realm]`.
    public var domainRealms: [String: String]
    /// Relations of `[libdefaults]` that win over krb5.conf.
    public var libdefaults: [String: String]
    /// The files that stand behind this value.
    public var base: Base
    /// The default credential cache; nil is what `KRB5CCNAME`, krb5.conf or the library say.
    public var defaultCacheName: String?
    /// The cache of a ticket that protects sign-ins and changes of passwords (FAST armor, RFC 6113 section 5.4.1), such as the machine's
    /// own; nil protects none. Where it is named, no sign-in goes unprotected.
    public var armorCache: CredentialCacheName?
    /// Realms whose KDCs in the files are passed over as well, so that libkrb5 asks DNS: they may repeat the preferred ones.
    var realmsWithoutKDCs: Set<String> = []
    /// Whether libkrb5 has no other way to sign in than PKINIT. With a certificate it goes on to others when that fails, and what asks for
    /// a one-time password, or for what SAM wants, can't be told from what asks for a PIN: it would send the PIN to the KDC.
    var signsInByCertificateAlone = false
    /// How far this machine's clock is taken to be off, in whole seconds, until a KDC has told its time: an hour makes libkrb5 begin as if
    /// it were an hour later than it is (`krb5_set_time_offsets`). For tests, and for a machine whose clock is known to be wrong.
    public var clockOffset: Duration = .zero

    /// The files that a configuration stands on.
    public enum Base: Sendable, Hashable {
        /// `KRB5_CONFIG`, else `/etc/krb5.conf`; a file that is missing is no fault.
        case system
        /// These files and no others; those that are missing are passed over.
        case files([String])
        /// No file at all.
        case none
    }

    /// A realm over the system's krb5.conf.
    public init(
        realm: String,
        preferredKDCs: [String] = [],
        otherKDCs: [String: [String]] = [:],
        domainRealms: [String: String] = [:],
        libdefaults: [String: String] = [:],
        base: Base = .system,
        defaultCacheName: String? = nil,
        armorCache: CredentialCacheName? = nil
    ) {
        self.realm = realm
        self.preferredKDCs = preferredKDCs
        self.otherKDCs = otherKDCs
        self.domainRealms = domainRealms
        self.libdefaults = libdefaults
        self.base = base
        self.defaultCacheName = defaultCacheName
        self.armorCache = armorCache
    }
}
