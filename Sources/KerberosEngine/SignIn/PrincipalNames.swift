internal import Kerberos
internal import SignOnPolicy

/// Finds the principals and the realms that names mean, and those that are meant if no name is given.
struct PrincipalNames: Sendable {
    /// The profiles.
    let policy: DecisionPolicy
    /// The client that reads krb5.conf and keytabs.
    let local: KerberosClient
    /// The name of the user, who signs in if neither the caller nor the profile names a principal.
    let userName: String?
    /// The sessions, whose realms are known.
    let sessions: any SessionReader
    /// The client keytab.
    let clientKeytab: InitialCredentialSource

    /// The realm of names without one: the profiles' default realm, else krb5.conf's.
    func defaultRealm() async throws(KerberosError) -> String? {
        if let realm = policy.defaultConfiguration?.realm { return realm }
        return try await local.defaultRealm()
    }

    /// The principal that signs in if none is named: the profile's principal for the realm, else the one that the user has stored, else the
    /// user's name.
    func defaultPrincipal(realm: String?) async throws(KerberosError) -> Principal {
        guard let realm = if let realm { await knownRealm(realm) } else { try await defaultRealm() } else {
            throw .noRealm(userName ?? "")
        }
        let configuration = policy.configurations.first { $0.realm == realm }
        guard let name = configuration?.principalName ?? configuration?.userPrincipal ?? userName else {
            throw KerberosError(.malformedPrincipal, subject: realm, message: "no principal is given. Write the principal as name@REALM.")
        }
        return try await inKnownRealm(Principal(typed: name, defaultRealm: realm))
    }

    /// The principal that signs in: the named one, else the first one of a keytab, else ``defaultPrincipal(realm:)``.
    func principal(
        signingIn name: String?,
        realm: String?,
        using source: InitialCredentialSource?
    ) async throws(KerberosError) -> Principal {
        switch (name, source) {
        case (nil, .keytab(let keytab)): return try await local.firstPrincipal(inKeytab: .keytab(keytab))
        case (nil, .clientKeytab): return try await local.firstPrincipal(inKeytab: clientKeytab)
        case (nil, _): return try await defaultPrincipal(realm: realm)
        case (.some(let name), _): return try await self.principal(name, realm: realm)
        }
    }

    /// The principal whose session a sign-in would begin, and its realm. The principal is nil if neither the caller nor the profile names
    /// one, so that any session of the realm will do.
    func wanted(
        _ name: String?,
        realm: String?,
        using source: InitialCredentialSource?
    ) async throws(KerberosError) -> (principal: Principal?, realm: String) {
        switch (name, source) {
        case (nil, .keytab), (nil, .clientKeytab), (.some, _):
            let principal = try await principal(signingIn: name, realm: realm, using: source)
            return (principal, principal.realm)
        default:
            let whole = try await defaultPrincipal(realm: realm)
            let isConfigured = policy.configurations.first { $0.realm == whole.realm }?.principalName != nil
            return (isConfigured ? whole : nil, whole.realm)
        }
    }

    /// The named principal; nil is ``defaultPrincipal(realm:)``.
    func principal(orDefault name: String?, realm: String?) async throws(KerberosError) -> Principal {
        if let name { try await principal(name, realm: realm) } else { try await defaultPrincipal(realm: realm) }
    }

    /// Returns the principal for a name. A name without a realm is in the given realm, else in the default realm. A realm that differs from
    /// a known one only in case is replaced by the known one.
    ///
    /// - Throws: `KerberosError`; `malformedPrincipal` for a Windows logon name, such as `DOMAIN\user`.
    func principal(_ name: String, realm: String?) async throws(KerberosError) -> Principal {
        if let principal = try? Principal(typed: name) { return try await inKnownRealm(principal) }
        guard let realm = if let realm { await knownRealm(realm) } else { try await defaultRealm() } else { throw .noRealm(name) }
        return try await inKnownRealm(Principal(typed: name, defaultRealm: realm))
    }

    /// Returns the known realm for a name that a person typed. Active Directory domains are written in any case, while Kerberos realms are
    /// case-sensitive.
    ///
    /// The known realms are those of the profiles, of krb5.conf and of the sessions. Uses no network.
    func knownRealm(_ realm: String) async -> String { await realmIfKnown(realm) ?? realm }

    /// The known realm that a name means: the name itself, else the first that differs only in case; nil if there is none.
    func realmIfKnown(_ name: String) async -> String? {
        var known = KnownRealms(policy.configurations.map(\.realm))
        if known.names.contains(name) { return name }
        known.names += (try? await local.configuredRealms()) ?? []
        if known.names.contains(name) { return name }
        known.names += (try? await sessions.read().sessions.map(\.realm)) ?? []
        return known.known(name)
    }

    private func inKnownRealm(_ principal: Principal) async throws(KerberosError) -> Principal {
        principal.inRealm(await knownRealm(principal.realm))
    }
}

/// Realm names in order of precedence.
struct KnownRealms {
    var names: [String]

    init(_ names: [String]) { self.names = names }

    /// The name itself if it is known; else the first known name that differs only in the case of ASCII letters; else the name itself.
    func realm(meant name: String) -> String { known(name) ?? name }

    /// The same; nil if no known name differs only in case.
    fileprivate func known(_ name: String) -> String? {
        names.contains(name) ? name : names.first { $0.isEqualIgnoringCase(to: name) }
    }
}

extension String {
    /// Compares ASCII letters case-insensitively, and everything else byte by byte.
    fileprivate func isEqualIgnoringCase(to other: String) -> Bool {
        func lowered(_ byte: UInt8) -> UInt8 { (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(byte) ? byte | 0x20 : byte }
        return utf8.elementsEqual(other.utf8) { lowered($0) == lowered($1) }
    }
}

extension KerberosError {
    static func noRealm(_ name: String) -> KerberosError {
        KerberosError(
            .malformedPrincipal,
            subject: name,
            message: "no realm is known. Write name@REALM, pass the realm, or install a profile or a krb5.conf with a default realm."
        )
    }
}
