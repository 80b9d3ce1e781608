internal import CKerberos

extension Context {
    /// The values of a relation, as libkrb5 itself sees them.
    func values(_ path: [String]) throws(KerberosError) -> [String] {
        var profile: profile_t?
        try check(krb5_get_profile(raw, &profile), .readConfiguration, subject: path.joined(separator: "."))
        guard let profile else { return [] }
        defer { profile_release(profile) }
        return Self.values(path, of: profile)
    }

    /// The names of the sections in a section of krb5.conf. The relations of ``RealmConfiguration`` are not among them.
    func subsections(_ path: [String]) throws(KerberosError) -> [String] {
        var profile: profile_t?
        try check(krb5_get_profile(raw, &profile), .readConfiguration, subject: path.joined(separator: "."))
        guard let profile else { return [] }
        defer { profile_release(profile) }
        let copies = path.map { strdup($0) }
        defer { copies.forEach { free($0) } }
        var names = copies.map { $0.map { UnsafePointer<CChar>($0) } } + [nil]
        var list: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>?
        guard profile_get_subsection_names(profile, &names, &list) == 0, let list else { return [] }
        return Self.taken(list)
    }

    /// The values of a relation of a profile.
    static func values(_ path: [String], of profile: profile_t) -> [String] {
        let copies = path.map { strdup($0) }
        defer { copies.forEach { free($0) } }
        var names = copies.map { $0.map { UnsafePointer<CChar>($0) } } + [nil]
        var list: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>?
        guard profile_get_values(profile, &names, &list) == 0, let list else { return [] }
        return taken(list)
    }

    private static func taken(_ list: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>) -> [String] {
        defer { profile_free_list(list) }
        var values: [String] = []
        var next = list
        while let value = next.pointee {
            values.append(String(cString: value))
            next += 1
        }
        return values
    }
}
