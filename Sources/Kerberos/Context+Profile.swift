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

    /// The values of a relation of a profile.
    static func values(_ path: [String], of profile: profile_t) -> [String] {
        let copies = path.map { strdup($0) }
        defer { copies.forEach { free($0) } }
        var names = copies.map { $0.map { UnsafePointer<CChar>($0) } } + [nil]
        var list: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>?
        guard profile_get_values(profile, &names, &list) == 0, let list else { return [] }
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
