internal import CKerberos

#if canImport(Glibc)
    internal import Glibc
#else
    internal import Darwin
#endif

/// The libkrb5 configuration of one realm, as a value: it becomes the profile of one context, on top of the system's krb5.conf.
///
/// It changes no process-wide state, so realms with different KDCs coexist in one process.
public struct RealmConfiguration: Sendable, Hashable {
    /// The realm, which is case-sensitive.
    public var realm: String
    /// KDCs that are tried before those of krb5.conf, in krb5.conf's syntax: `host`, `host:port`, `[v6]:port`, `https://host/path`.
    public var preferredKDCs: [String]
    /// KDCs of other realms, which trusts and referrals lead to, in the same syntax.
    public var otherKDCs: [String: [String]]
    /// The realm of a host or a `.suffix`; takes precedence over krb5.conf's `[domain_realm]`.
    public var domainRealms: [String: String]
    /// Relations of `[libdefaults]`; they take precedence over krb5.conf.
    public var libdefaults: [String: String]
    /// The files that this configuration is based on.
    public var base: Base
    /// The default credential cache; nil is that of `KRB5CCNAME`, krb5.conf or libkrb5.
    public var defaultCacheName: String?
    /// The cache of the armor ticket that protects sign-ins and password changes (FAST, RFC 6113 section 5.4.1), such as the machine's own;
    /// nil uses no armor. If it is set, no sign-in is sent without armor.
    public var armorCache: CredentialCacheName?
    /// Realms whose KDCs in the files are ignored too, so that libkrb5 asks DNS: the files may repeat the preferred KDCs.
    var realmsWithoutKDCs: Set<String> = []
    /// The servers that change passwords, if the files name none (`kpasswd_server`).
    var standardPasswordServers: [String] = []
    /// The issuers whose certificates may sign in, with `*` for any characters and `?` for one; nil is any.
    package var certificateIssuer: String?
    /// The principal that signs in with a certificate, if PKINIT is libkrb5's only pre-authentication mechanism. Otherwise libkrb5 tries
    /// others after a certificate fails, and its prompts for a one-time password or for SAM look like those for a PIN: it would send the
    /// PIN to the KDC.
    var certificateOwner: Principal?
    /// The assumed KDC clock offset, in whole seconds, until a KDC reports its time: with an hour, libkrb5 starts as if it were an hour
    /// later (`krb5_set_time_offsets`). For tests, and for a machine whose clock is known to be wrong.
    public var clockOffset: Duration = .zero

    /// The files that a configuration is based on.
    public enum Base: Sendable, Hashable {
        /// `KRB5_CONFIG`, else `/etc/krb5.conf`; a missing file is not an error.
        case system
        /// These files only; missing ones are ignored.
        case files([String])
        /// No file.
        case none
    }

    /// Creates a realm's configuration, based on the system's krb5.conf by default.
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
    /// Creates the profile for `krb5_init_context_profile`; the caller releases it.
    func makeProfile() throws(KerberosError) -> profile_t {
        let source = ProfileSource(
            overlay: overlay,
            overlayOfAllSections: overlayOfAllSections,
            prepended: prepended,
            defaults: defaults,
            base: try openBase()
        )
        var table = ProfileSource.table
        var profile: profile_t?
        let status = profile_init_vtable(&table, Unmanaged.passRetained(source).toOpaque(), &profile)
        guard status == 0, let profile else {
            Unmanaged.passUnretained(source).release()
            throw .library(krb5_error_code(truncatingIfNeeded: status), .readConfiguration, subject: baseDescription, context: nil)
        }
        return profile
    }

    /// The error subject for an invalid file.
    var baseDescription: String {
        switch base {
        case .system: "krb5.conf"
        case .files(let paths): paths.joined(separator: ", ")
        case .none: realm
        }
    }

    /// Relations that replace those of the files. DNS must not change the URL's host name, which is the service's name.
    private var overlay: [[String]: [String]] {
        var relations: [[String]: [String]] = [
            ["libdefaults", "dns_canonicalize_hostname"]: ["false"],
            ["libdefaults", "rdns"]: ["false"],
        ]
        if !realm.isEmpty { relations[["libdefaults", "default_realm"]] = [realm] }
        for (name, value) in libdefaults { relations[["libdefaults", name]] = [value] }
        for (name, realm) in domainRealms { relations[["domain_realm", name]] = [realm] }
        if certificateOwner != nil { relations[["plugins", "clpreauth", "enable_only"]] = ["pkinit"] }
        for realm in realmsWithoutKDCs { relations[["realms", realm, "kdc"]] = [] }
        return relations
    }

    /// Relations that replace those of the files in every section. libkrb5 looks for the rules of certificates in the sections of the
    /// realm, which a referral may change, and another rule could select the certificate of another issuer.
    private var overlayOfAllSections: [String: [String]] {
        guard let certificateOwner, certificateIssuer != nil else { return [:] }
        return ["pkinit_cert_match": certificateRules(certificateOwner)]
    }

    /// Relations that precede those of the files.
    private var prepended: [[String]: [String]] {
        let kdcs = otherKDCs.merging([realm: preferredKDCs]) { _, own in own }.filter { !$0.value.isEmpty }
        var relations = Dictionary(uniqueKeysWithValues: kdcs.map { realm, kdcs in (["realms", realm, "kdc"], kdcs) })
        // SAM asks what the KDC tells it to, in a prompt that looks like the one for a certificate's PIN, and sends the answer to the KDC.
        // With PKINIT, a certificate that krb5.conf names would sign in instead of the given password or key, which would not be checked.
        relations[["plugins", "clpreauth", "disable"]] = certificateOwner != nil ? ["sam2"] : ["sam2", "pkinit"]
        return relations
    }

    /// Defaults that the files can override. TCP comes first: large replies require it, and a slow KDC gets no retransmissions, so that a
    /// wrong password is not sent to a second KDC.
    private var defaults: [[String]: [String]] {
        var relations = [["libdefaults", "udp_preference_limit"]: ["1"]]
        if !standardPasswordServers.isEmpty { relations[["realms", realm, "kpasswd_server"]] = standardPasswordServers }
        if let certificateOwner { relations[["libdefaults", "pkinit_cert_match"]] = certificateRules(certificateOwner) }
        return relations
    }

    private func certificateRules(_ owner: Principal) -> [String] { CertificateSelection(owner: owner, issuer: certificateIssuer).rules }

    private func openBase() throws(KerberosError) -> profile_t? {
        switch base {
        case .none: return nil
        case .files(let paths): return try open(paths)
        case .system: return try Self.openProcessProfile()
        }
    }

    /// Opens the profile that libkrb5's contexts have by default; the caller releases it.
    static func openProcessProfile() throws(KerberosError) -> profile_t? {
        // libkrb5 decides which files to read, and a context is the only public way to ask it.
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
        if status == Int(ENOENT) { return nil }  // none of the files exists
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
