internal import CKerberos

#if canImport(Glibc)
    internal import Glibc
#else
    internal import Darwin
#endif

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

extension RealmConfiguration {
    /// The profile for `krb5_init_context_profile`; the caller releases it.
    func makeProfile() throws(KerberosError) -> profile_t {
        let source = ProfileSource(overlay: overlay, prepended: prepended, defaults: Self.defaults, base: try openBase())
        var table = ProfileSource.table
        var profile: profile_t?
        let status = profile_init_vtable(&table, Unmanaged.passRetained(source).toOpaque(), &profile)
        guard status == 0, let profile else {
            Unmanaged.passUnretained(source).release()
            throw .library(krb5_error_code(truncatingIfNeeded: status), .readConfiguration, subject: baseDescription, context: nil)
        }
        return profile
    }

    /// What the error names when the files have a fault.
    var baseDescription: String {
        switch base {
        case .system: "krb5.conf"
        case .files(let paths): paths.joined(separator: ", ")
        case .none: realm
        }
    }

    /// Relations that replace those of the files. The URL's host is the service's name: DNS must not rewrite it.
    private var overlay: [[String]: [String]] {
        var relations: [[String]: [String]] = [
            ["libdefaults", "dns_canonicalize_hostname"]: ["false"],
            ["libdefaults", "rdns"]: ["false"],
        ]
        if !realm.isEmpty { relations[["libdefaults", "default_realm"]] = [realm] }
        for (name, value) in libdefaults { relations[["libdefaults", name]] = [value] }
        for (name, realm) in domainRealms { relations[["domain_realm", name]] = [realm] }
        if signsInByCertificateAlone { relations[["plugins", "clpreauth", "enable_only"]] = ["pkinit"] }
        for realm in realmsWithoutKDCs { relations[["realms", realm, "kdc"]] = [] }
        return relations
    }

    /// Relations that stand before those of the files.
    private var prepended: [[String]: [String]] {
        let kdcs = otherKDCs.merging([realm: preferredKDCs]) { _, own in own }.filter { !$0.value.isEmpty }
        var relations = Dictionary(uniqueKeysWithValues: kdcs.map { realm, kdcs in (["realms", realm, "kdc"], kdcs) })
        // It asks what a KDC has it ask, in a question that can't be told from the one for a certificate's PIN, and answers the KDC.
        relations[["plugins", "clpreauth", "disable"]] = ["sam2"]
        return relations
    }

    /// What holds where no file says otherwise. TCP first: a large reply needs it anyway, and a slow KDC is not asked twice, so that a
    /// wrong password is not sent to a second one.
    private static let defaults: [[String]: [String]] = [["libdefaults", "udp_preference_limit"]: ["1"]]

    private func openBase() throws(KerberosError) -> profile_t? {
        switch base {
        case .none: return nil
        case .files(let paths): return try open(paths)
        case .system: return try Self.openProcessProfile()
        }
    }

    /// The profile that every context of the library gets by itself; the caller releases it.
    static func openProcessProfile() throws(KerberosError) -> profile_t? {
        // The library itself knows which files count; a context is the only public way to ask it.
        var context: krb5_context?
        var profile: profile_t?
        let status = krb5_init_context(&context)
        guard status == 0 else { throw .library(status, .readConfiguration, subject: "krb5.conf", context: nil) }
        defer { krb5_free_context(context) }
        let opened = krb5_get_profile(context, &profile)
        guard opened == 0 else { throw .library(opened, .readConfiguration, subject: "krb5.conf", context: context) }
        return profile
    }

    private func open(_ paths: [String]) throws(KerberosError) -> profile_t? {
        var profile: profile_t?
        let copies = paths.map { strdup($0) }
        defer { copies.forEach { free($0) } }
        var names = copies.map { $0.map { UnsafePointer<CChar>($0) } } + [nil]
        let status = profile_init(&names, &profile)
        if status == Int(ENOENT) { return nil }  // none of the files is there
        guard status == 0 else {
            throw .library(
                krb5_error_code(truncatingIfNeeded: status),
                .readConfiguration,
                subject: paths.joined(separator: ", "),
                context: nil
            )
        }
        return profile
    }
}
