internal import CKerberos

extension Context {
    /// The values of a relation, as libkrb5 sees them.
    func values(_ path: [String]) throws(KerberosError) -> [String] {
        var profile: profile_t?
        try check(krb5_get_profile(raw, &profile), .readConfiguration, subject: path.joined(separator: "."))
        guard let profile else { return [] }
        defer { profile_release(profile) }
        return Self.values(path, of: profile)
    }

    /// The names of the subsections of a section of krb5.conf, without the relations of ``RealmConfiguration``.
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

/// The booleans of krb5.conf. libkrb5 reads them in two ways, which differ for a word that is no boolean.
package enum ConfigurationBoolean {
    /// Whether libkrb5's own parser takes a word for true, as for `dns_lookup_kdc`; any other word is false.
    static func isTrue(_ word: String) -> Bool { ["y", "yes", "true", "t", "1", "on"].contains(word.lowercased()) }

    /// Whether a word leaves a relation on that is true by default, as for `dns_uri_lookup`. Because `profile_get_boolean` refuses a word
    /// that is no boolean, libkrb5 then uses the default.
    package static func isNotFalse(_ word: String) -> Bool {
        !["n", "no", "false", "nil", "f", "0", "off"].contains(word.lowercased())
    }
}

extension KerberosClient {
    /// The realm that `[domain_realm]` of the configuration gives for a host (`krb5_get_host_realm`); nil leaves the choice to the KDC.
    /// Queries DNS if krb5.conf sets `dns_lookup_realm`.
    ///
    /// - Throws: ``KerberosError``; `kdcUnreachable` after the default deadline.
    public func configuredRealm(ofHost host: String) async throws(KerberosError) -> String? {
        try await performOnNetwork(subject: host, deadline: nil) { context, _ throws(KerberosError) in
            var realms: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>?
            guard krb5_get_host_realm(context.raw, host, &realms) == 0, let realms else { return nil }
            defer { krb5_free_host_realm(context.raw, realms) }
            guard let first = realms.pointee, first.pointee != 0 else { return nil }
            return String(cString: first)
        }
    }

    /// The default realm of krb5.conf (`krb5_get_default_realm`); nil if none is set.
    public func defaultRealm() async throws(KerberosError) -> String? {
        try await perform { context throws(KerberosError) in
            var realm: UnsafeMutablePointer<CChar>?
            guard krb5_get_default_realm(context.raw, &realm) == 0, let realm else { return nil }
            defer { krb5_free_default_realm(context.raw, realm) }
            return String(cString: realm)
        }
    }

    /// The realms that krb5.conf names: the default realm, then those with a section in `[realms]`.
    package func configuredRealms() async throws(KerberosError) -> [String] {
        let standard = try await defaultRealm()
        let sections = try await perform { context throws(KerberosError) in try context.subsections(["realms"]) }
        return (standard.map { [$0] } ?? []) + sections.filter { $0 != standard }
    }
}

extension KerberosClient {
    /// The maximum clock skew in seconds: `clockskew`, 300 by default.
    package func clockTolerance() async throws(KerberosError) -> Double {
        try await libdefault("clockskew").flatMap(Double.init) ?? 300
    }

    /// The lifetime that libkrb5 requests for a ticket-granting ticket if the caller names none: `ticket_lifetime`, one day by default.
    package func defaultTicketLifetime() async throws(KerberosError) -> Duration {
        try await perform { [realm = configuration.realm] context throws(KerberosError) in
            let texts = try context.values(["libdefaults", realm, "ticket_lifetime"]) + context.values(["libdefaults", "ticket_lifetime"])
            guard var text = texts.first.map({ Array($0.utf8CString) }) else { return .seconds(86_400) }
            var seconds: krb5_deltat = 0
            guard krb5_string_to_deltat(&text, &seconds) == 0, seconds > 0 else { return .seconds(86_400) }
            return .seconds(Int(seconds))
        }
    }

    /// The first value of a relation in `[libdefaults]`, as this client's libkrb5 sees it.
    package func libdefault(_ name: String) async throws(KerberosError) -> String? {
        try await perform { context throws(KerberosError) in try context.values(["libdefaults", name]).first }
    }
}

/// What GSSAPI finds in this process's krb5.conf (`KRB5_CONFIG`, else /etc/krb5.conf). It reads no other file, whatever a
/// ``RealmConfiguration`` says.
public struct ProcessConfiguration: Sendable, Hashable {
    /// Whether tokens declare that the client supports channel bindings, so that an acceptor with bindings rejects tokens without them:
    /// `client_aware_channel_bindings`.
    public let isAwareOfChannelBindings: Bool
    /// Whether it names a KDC of the realm. If it does not, GSSAPI looks in DNS for the KDC that it needs for delegation.
    public let namesKDC: Bool
}

extension KerberosClient {
    /// Reads the configuration that GSSAPI would read now.
    ///
    /// - Parameter realm: The realm whose KDCs to look for; nil is the realm of ``configuration``.
    /// - Throws: ``KerberosError``; `configurationInvalid` if the file is invalid, in which case GSSAPI makes no token at all.
    public func processConfiguration(realm: String? = nil) async throws(KerberosError) -> ProcessConfiguration {
        try await perform { [realm = realm ?? configuration.realm] _ throws(KerberosError) in
            guard let profile = try RealmConfiguration.openProcessProfile() else {
                return ProcessConfiguration(isAwareOfChannelBindings: false, namesKDC: false)
            }
            defer { profile_release(profile) }
            var isAware: Int32 = 0
            profile_get_boolean(profile, "libdefaults", "client_aware_channel_bindings", nil, 0, &isAware)
            let kdcs = Context.values(["realms", realm, "kdc"], of: profile)
            return ProcessConfiguration(isAwareOfChannelBindings: isAware != 0, namesKDC: !kdcs.isEmpty)
        }
    }
}
