internal import HTTPNegotiate
public import Kerberos

extension KerberosExtension {
    /// Signs a principal in and leaves its tickets in the shared credential cache, where every program finds them.
    ///
    /// The sign-in makes it the default of its realm. The tickets of other principals stay: where the default cache can hold but one,
    /// a second principal gets a cache of its own.
    ///
    /// - Parameters:
    ///   - name: the principal, with or without its realm; nil is ``defaultPrincipal(realm:)``.
    ///   - realm: the realm for a name that has none; nil is ``defaultRealm()``.
    ///   - source: the password, the keytab, the certificate, or who answers what libkrb5 asks, and is asked for another password where it
    ///     has expired. A profile may forbid passwords or certificates.
    ///   - options: what to ask of the KDC. Where a profile of the realm lets servers have the user's ticket, a forwardable one is asked
    ///     for, unless these options say otherwise.
    ///   - cache: the cache to fill; nil lets the rule above choose.
    /// - Throws: `KerberosError`. A wrong password is sent once.
    @discardableResult
    public func signIn(
        _ name: String? = nil,
        realm: String? = nil,
        using source: InitialCredentialSource,
        options: InitialCredentialOptions = .init(),
        cache: CredentialCacheName? = nil
    ) async throws(KerberosError) -> Session {
        try await acquire(name, realm: realm, using: source, options: options, cache: cache).session
    }

    /// Signs in by a key where no person asked for it: another principal who is signed in stays the default one.
    @discardableResult
    package func signInUnattended(_ name: String?, using source: InitialCredentialSource) async throws(KerberosError) -> Session {
        try await acquire(name, realm: nil, using: source, options: .init(), cache: nil, isUnattended: true).session
    }

    /// The same, with the password that the KDC took, if it was one.
    func acquire(
        _ name: String?,
        realm: String?,
        using source: InitialCredentialSource,
        options: InitialCredentialOptions,
        cache: CredentialCacheName?,
        isUnattended: Bool = false
    ) async throws(KerberosError) -> (session: Session, password: Secret?) {
        await followClock()
        let principal = try await principal(signingIn: name, realm: realm, using: source)
        let given = source
        let source = try await permitted(given, realm: principal.realm)
        // Before anyone is asked for a password: is there a cache that can take the tickets?
        if cache == nil { try await sessionStore.checkPlace(for: principal) }
        let options = policy.initialCredentialOptions(for: principal, options)
        let answer = try await initialCredential(for: principal, using: source, options: options)
        let marks = SessionMark.all(for: given, at: self.options.clock()).merging(SessionMark.requestedName(principal, of: answer)) { $1 }
        return (try await keep(answer, marks: marks, cache: cache, isUnattended: isUnattended), answer.password)
    }

    /// Leaves the ticket of a sign-in in the cache that is named, or chosen, and makes that the primary one.
    ///
    /// - Parameter isUnattended: Whether no person asked for it: then the primary cache of another principal who is signed in stays that.
    func keep(
        _ answer: SignInTicket,
        marks: [String: String],
        cache: CredentialCacheName? = nil,
        isUnattended: Bool = false
    ) async throws(KerberosError) -> Session {
        let ticket = answer.credential
        var keepsPrimary = false
        if isUnattended, let primary = try await sessionStore.read().primary {
            keepsPrimary = primary.isSignedIn && primary.principal != ticket.client
        }
        let client = clients.client(for: ticket.client.realm)
        var marks = marks
        marks[SessionMark.passwordExpires] = ticket.passwordExpires.map(SessionMark.text)
        // Only now: another program may have signed somebody in meanwhile, and the KDC may know the principal by another name.
        let target = if let cache { cache } else { try await sessionStore.cache(for: ticket.client) }
        marks[SessionMark.passwordChanged] =
            if let changed = answer.passwordChanged { SessionMark.text(changed) } else {
                await passwordChangeMark(of: ticket.client, in: target)
            }
        try await client.replace(
            target,
            principal: ticket.client,
            credentials: [ticket],
            marks: marks,
            clockOffset: answer.clockOffset
        )
        if !keepsPrimary, (try? await client.supportsCollections(target)) == true { try? await client.makePrimary(target) }
        initiators.removeAll()
        return try await session(in: target)
    }

    /// The realm of a name that has none: the profile's default realm, else krb5.conf's.
    public func defaultRealm() async throws(KerberosError) -> String? {
        if let realm = policy.defaultConfiguration?.realm { return realm }
        return try await clients.local.defaultRealm()
    }

    /// Who signs in when nobody is named: the profile's principal for the realm, else the user.
    public func defaultPrincipal(realm: String?) async throws(KerberosError) -> Principal {
        let user = options.userName
        guard let realm = if let realm { await knownRealm(realm) } else { try await defaultRealm() } else { throw .noRealm(user ?? "") }
        let configured = policy.configurations.first { $0.realm == realm }?.principalName
        guard let name = configured ?? user else {
            throw KerberosError(.malformedPrincipal, subject: realm, message: "nobody is named. Say who signs in, as name@REALM.")
        }
        return try await inKnownRealm(Principal(typed: name, defaultRealm: realm))
    }

    /// What the cache that is to be filled anew says of the last change: a sign-in does not make it forgotten.
    private func passwordChangeMark(of principal: Principal, in cache: CredentialCacheName) async -> String? {
        guard let contents = try? await clients.local.contents(of: cache), contents.principal == principal else { return nil }
        return contents.marks[SessionMark.passwordChanged]
    }

    func session(in cache: CredentialCacheName) async throws(KerberosError) -> Session {
        // The full name, since that of a collection stands for its primary cache.
        let listing = try await clients.local.listing(of: cache)
        let list = try await sessionStore.read()
        if let session = list.sessions.first(where: { $0.cache == listing.name }) { return session }
        // A cache outside the collections: one that the caller named.
        guard let session = Session(listing, now: options.clock()) else { throw .notSignedIn(listing.principal.description) }
        return session
    }

    /// Resolves who signs in: the principal that is named, else the first one of a keytab, else ``defaultPrincipal(realm:)``.
    package func principal(
        signingIn name: String?,
        realm: String?,
        using source: InitialCredentialSource?
    ) async throws(KerberosError) -> Principal {
        switch (name, source) {
        case (nil, .keytab(let keytab)): return try await clients.local.firstPrincipal(inKeytab: .keytab(keytab))
        case (nil, .clientKeytab): return try await clients.local.firstPrincipal(inKeytab: .clientKeytab)
        case (nil, _): return try await defaultPrincipal(realm: realm)
        case (.some(let name), _): return try await self.principal(name, realm: realm)
        }
    }

    /// The principal that a name means: with no realm in it, the given realm's, else the default realm's. A realm that differs from one
    /// that is known in case only is taken for it.
    ///
    /// - Throws: `KerberosError`; `malformedPrincipal` for a Windows logon name, such as `DOMAIN\user`.
    public func principal(_ name: String, realm: String? = nil) async throws(KerberosError) -> Principal {
        if let principal = try? Principal(typed: name) { return try await inKnownRealm(principal) }
        guard let realm = if let realm { await knownRealm(realm) } else { try await defaultRealm() } else { throw .noRealm(name) }
        return try await inKnownRealm(Principal(typed: name, defaultRealm: realm))
    }

    /// The realm that a person means by a realm's name: Active Directory's are written in any case, and Kerberos knows one.
    ///
    /// Known are the profiles' realms, those that krb5.conf names, and those of the sessions; no network.
    package func knownRealm(_ realm: String) async -> String {
        var known = KnownRealms(policy.configurations.map(\.realm))
        if known.names.contains(realm) { return realm }
        known.names += (try? await clients.local.configuredRealms()) ?? []
        if known.names.contains(realm) { return realm }
        known.names += (try? await sessions().sessions.map(\.realm)) ?? []
        return known.realm(meant: realm)
    }

    private func inKnownRealm(_ principal: Principal) async throws(KerberosError) -> Principal {
        principal.inRealm(await knownRealm(principal.realm))
    }
}

/// Realms in the order in which they count.
struct KnownRealms {
    var names: [String]

    init(_ names: [String]) { self.names = names }

    /// The name itself if it is known, else the first that differs from it in the case of ASCII letters only, else the name itself.
    func realm(meant name: String) -> String {
        names.contains(name) ? name : names.first { $0.isEqualIgnoringCase(to: name) } ?? name
    }
}

extension String {
    /// Compares ASCII letters without their case, and everything else byte by byte.
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
            message: "no realm is known. Write name@REALM, or give the realm, or install a profile or a krb5.conf that names one."
        )
    }
}
