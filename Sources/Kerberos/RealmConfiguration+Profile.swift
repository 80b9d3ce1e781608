internal import CKerberos

#if canImport(Glibc)
    internal import Glibc
#else
    internal import Darwin
#endif

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
