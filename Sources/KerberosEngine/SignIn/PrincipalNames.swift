package import Kerberos
internal import SignOnPolicy

/// Finds the principals and the realms that names mean, and those that are meant if no name is given.
package struct PrincipalNames: Sendable {
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
    /// Asks a realm's controllers for the NetBIOS name of their domain; returns nil if it is not a domain, or none answers.
    let netBIOSName: @Sendable (String) async -> String?

    /// The realm of names without one: the profiles' default realm, else krb5.conf's.
    package func defaultRealm() async throws(KerberosError) -> String? {
        if let realm = policy.defaultConfiguration?.realm { return realm }
        return try await local.defaultRealm()
    }

    /// The principal that signs in if none is named: the profile's principal for the realm, else the one that the user has stored, else the
    /// user's name.
    package func defaultPrincipal(realm: String?) async throws(KerberosError) -> Principal {
        guard let realm = if let realm { await knownRealm(realm) } else { try await defaultRealm() } else {
            throw .noRealm(userName ?? "")
        }
        let configuration = policy.configurations.first { $0.realm == realm }
        guard let name = configuration?.principalName ?? configuration?.userPrincipal ?? userName else {
            throw KerberosError(.malformedPrincipal, subject: realm, message: "no principal is given. Write the principal as name@REALM.")
        }
        return try await self.principal(name, realm: realm)
    }

    /// The principal that signs in: the named one, else the first one of a keytab, else ``defaultPrincipal(realm:)``.
    package func principal(
        signingIn name: String?,
        realm: String?,
        using source: InitialCredentialSource?
    ) async throws(KerberosError) -> Principal {
        switch (name, source) {
        case (nil, .keytab(let keytab)): return try await local.firstPrincipal(inKeytab: .keytab(keytab))
        case (nil, .clientKeytab): return try await local.firstPrincipal(inKeytab: clientKeytab)
        case (nil, _): return try await defaultPrincipal(realm: realm)
        case (.some(let name), .keytab), (.some(let name), .clientKeytab):
            return try await self.principal(name, realm: realm, isAccount: false)
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

    /// Returns the principal for a name as people write it:
    ///
    /// - `alice`: in the given realm, else in the default realm.
    /// - `alice@corp.example`: in the known realm that differs only in case.
    /// - `alice@mail.example`, with a lower-case letter after the @ and no such realm: an enterprise name (RFC 6806 section 5), such as a
    ///   user principal name of Active Directory. The KDC of the given realm, else of the default realm, finds the account.
    /// - `CORP\alice`: in the given realm, else in the realm of the Windows domain; see ``realm(ofDomain:typed:)``.
    ///
    /// The full name of a principal with its realm is that principal.
    ///
    /// - Parameter isAccount: Whether the name may be another name of an account. A keytab contains the principal itself.
    /// - Throws: `KerberosError`; `malformedPrincipal` for a Windows domain that no known realm, or more than one, matches.
    package func principal(_ text: String, realm: String? = nil, isAccount: Bool = true) async throws(KerberosError) -> Principal {
        // Spaces come with copied text. A backslash makes a space part of the name.
        let name = text.contains(#"\"#) ? text : text.withoutSpacesAround
        let given: String? = if let realm { await knownRealm(realm) } else { nil }
        if let logon = WindowsLogonName(name) {
            let realm = if let given { given } else { try await self.realm(ofDomain: logon, typed: name) }
            return try Principal(typed: logon.user, defaultRealm: realm)
        }
        guard let principal = try? Principal(typed: name) else {
            guard let realm = if let given { given } else { try await defaultRealm() } else { throw .noRealm(name) }
            return try await inKnownRealm(Principal(typed: name, defaultRealm: realm))
        }
        if let known = await realmIfKnown(principal.realm) { return principal.inRealm(known) }
        guard isAccount, principal.mayBeEnterpriseName, given?.isIdentical(to: principal.realm) != true,
            let realm = if let given { given } else { try await defaultRealm() }
        else { return principal }
        return try Principal(enterprise: name, realm: realm)
    }

    /// The realm of a Windows domain: the one of the profiles whose first label is the domain's name, else the one whose controllers call
    /// it so; without one, the same of the default realm and of those of the sessions. Other realms that krb5.conf lists do not count,
    /// because distributions list realms there that have nothing to do with the user.
    private func realm(ofDomain name: WindowsLogonName, typed text: String) async throws(KerberosError) -> String {
        let profiles = policy.configurations.map(\.realm)
        let others = ((try? await defaultRealm()).flatMap { $0 }.map { [$0] } ?? []) + (await sessionRealms())
        for realms in [profiles.eachOnce, others.eachOnce] {
            var found = realms.filter { String($0.prefix { $0 != "." }).isEqualIgnoringCase(to: name.domain) }
            if found.isEmpty {
                for realm in realms where await netBIOSName(realm)?.isEqualIgnoringCase(to: name.domain) == true { found.append(realm) }
            }
            if found.count == 1 { return found[0] }
            if !found.isEmpty { throw .unknownDomain(name, typed: text, candidates: found) }
        }
        throw .unknownDomain(name, typed: text, candidates: [])
    }

    /// Returns the known realm for a name that a person typed. Active Directory domains are written in any case, while Kerberos realms are
    /// case-sensitive.
    ///
    /// The known realms are those of the profiles, of krb5.conf and of the sessions. Uses no network.
    package func knownRealm(_ realm: String) async -> String { await realmIfKnown(realm) ?? realm }

    /// The known realm that a name means: the name itself, else the first that differs only in case; nil if there is none.
    package func realmIfKnown(_ name: String) async -> String? {
        var known = KnownRealms(policy.configurations.map(\.realm))
        if known.names.contains(name) { return name }
        known.names += (try? await local.configuredRealms()) ?? []
        if known.names.contains(name) { return name }
        known.names += await sessionRealms()
        return known.known(name)
    }

    private func sessionRealms() async -> [String] { (try? await sessions.read().sessions.map(\.realm)) ?? [] }

    private func inKnownRealm(_ principal: Principal) async throws(KerberosError) -> Principal {
        principal.inRealm(await knownRealm(principal.realm))
    }
}

extension [String] {
    /// The elements, each at its first place only.
    fileprivate var eachOnce: [String] {
        reduce(into: []) { result, name in if !result.contains(name) { result.append(name) } }
    }
}

/// Realm names in order of precedence.
struct KnownRealms {
    var names: [String]

    init(_ names: [String]) { self.names = names }

    /// The name itself if it is known; else the first known name that differs only in the case of ASCII letters; else the name itself.
    func realm(meant name: String) -> String { known(name) ?? name }

    /// The principal that a name in a profile or in a request means, if these are all realms that are known. It may be an enterprise name.
    func principal(_ text: String, realm: String) throws(KerberosError) -> Principal {
        let principal = try Principal(typed: text, defaultRealm: realm)
        if let known = known(principal.realm) { return principal.inRealm(known) }
        return principal.mayBeEnterpriseName ? try Principal(enterprise: text, realm: realm) : principal
    }

    /// The same; nil if no known name differs only in case.
    fileprivate func known(_ name: String) -> String? {
        names.contains(name) ? name : names.first { $0.isEqualIgnoringCase(to: name) }
    }
}

/// The name of a user in a Windows domain, in the form `CORP\alice`.
struct WindowsLogonName {
    /// The domain's NetBIOS name, which is usually the first label of its realm.
    let domain: String
    let user: String

    /// Nil for other names. A backslash before /, @ or a space is an escape of a principal name.
    init?(_ text: String) {
        let parts = text.split(separator: #"\"#, omittingEmptySubsequences: false).map(String.init)
        guard parts.count == 2, !parts[0].isEmpty, !parts[1].isEmpty, !text.contains("/"), !text.contains("@"), !parts[1].hasPrefix(" ")
        else { return nil }
        (domain, user) = (parts[0], parts[1])
    }
}

extension String {
    fileprivate var withoutSpacesAround: String {
        String(String(drop { $0.isWhitespace }.reversed()).drop { $0.isWhitespace }.reversed())
    }

    /// Compares ASCII letters case-insensitively, and everything else byte by byte.
    func isEqualIgnoringCase(to other: String) -> Bool {
        func lowered(_ byte: UInt8) -> UInt8 { (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(byte) ? byte | 0x20 : byte }
        return utf8.elementsEqual(other.utf8) { lowered($0) == lowered($1) }
    }
}

extension KerberosError {
    fileprivate static func unknownDomain(_ name: WindowsLogonName, typed text: String, candidates: [String]) -> KerberosError {
        let message =
            candidates.isEmpty
            ? "no known realm is the Windows domain \(name.domain). Write the user and the realm, such as \(name.user)@REALM."
            : "the Windows domain \(name.domain) may be \(candidates.joined(separator: " or ")). Write the user and the realm, such as "
                + "\(name.user)@\(candidates[0])."
        return KerberosError(.malformedPrincipal, subject: text, message: message)
    }

    static func noRealm(_ name: String) -> KerberosError {
        KerberosError(
            .malformedPrincipal,
            subject: name,
            message: "no default realm is known. Write name@REALM, pass the realm, or set isDefaultRealm in a profile or default_realm in "
                + "krb5.conf."
        )
    }
}
