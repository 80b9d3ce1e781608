public import Kerberos
internal import SignOnPolicy

extension KerberosExtension {
    /// Signs in a principal and stores its tickets in the shared credential cache, where every program finds them.
    ///
    /// The principal becomes the default of its realm. The tickets of other principals are kept: if the default cache can hold only one
    /// principal, a second one gets its own cache.
    ///
    /// - Parameters:
    ///   - name: The principal's name, with or without a realm; nil is ``defaultPrincipal(realm:)``.
    ///   - realm: The realm of a name without one; nil is ``defaultRealm()``.
    ///   - source: The password, the keytab, the certificate, or a prompter that answers libkrb5's questions and is asked for a new
    ///     password if the current one has expired. A profile may forbid passwords or certificates.
    ///   - options: The options of the request. If a profile of the realm allows delegation, a forwardable ticket is requested unless these
    ///     options say otherwise.
    ///   - cache: The cache for the tickets; nil selects one by the rule above.
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

    /// Signs in with a key without a person's request. If another principal is signed in, it stays the default one.
    @discardableResult
    package func signInUnattended(_ name: String?, using source: InitialCredentialSource) async throws(KerberosError) -> Session {
        try await acquire(name, realm: nil, using: source, options: .init(), cache: nil, isUnattended: true).session
    }

    /// Signs in, and also returns the password that the KDC accepted, if the sign-in used one.
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
        // Checks that a cache is available before the prompt for a password.
        if cache == nil { try await sessionStore.checkPlace(for: principal) }
        let options = policy.initialCredentialOptions(for: principal, options)
        let answer = try await initialCredential(for: principal, using: source, options: options)
        let marks = SessionMark.all(for: given, at: self.options.clock()).merging(SessionMark.requestedName(principal, of: answer)) { $1 }
        return (try await keep(answer, marks: marks, cache: cache, isUnattended: isUnattended), answer.password)
    }

    /// Stores the ticket of a sign-in in the given or selected cache, and makes that the primary one.
    ///
    /// - Parameter isUnattended: Whether no person requested the sign-in. If so, the primary cache of another signed-in principal stays the
    ///   primary one.
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
        // The cache is selected only now, because another program may have signed in meanwhile, and the KDC may have canonicalized the
        // principal.
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

    /// The realm of names without one: the profiles' default realm, else krb5.conf's.
    public func defaultRealm() async throws(KerberosError) -> String? {
        if let realm = policy.defaultConfiguration?.realm { return realm }
        return try await clients.local.defaultRealm()
    }

    /// The principal that signs in if none is named: the profile's principal for the realm, else the user.
    public func defaultPrincipal(realm: String?) async throws(KerberosError) -> Principal {
        let user = options.userName
        guard let realm = if let realm { await knownRealm(realm) } else { try await defaultRealm() } else { throw .noRealm(user ?? "") }
        let configured = policy.configurations.first { $0.realm == realm }?.principalName
        guard let name = configured ?? user else {
            throw KerberosError(.malformedPrincipal, subject: realm, message: "no principal is given. Write the principal as name@REALM.")
        }
        return try await inKnownRealm(Principal(typed: name, defaultRealm: realm))
    }

    /// The mark of the last password change in a cache that is about to be overwritten, so that a sign-in keeps it.
    private func passwordChangeMark(of principal: Principal, in cache: CredentialCacheName) async -> String? {
        guard let contents = try? await clients.local.contents(of: cache), contents.principal == principal else { return nil }
        return contents.marks[SessionMark.passwordChanged]
    }

    func session(in cache: CredentialCacheName) async throws(KerberosError) -> Session {
        // The listing has the full name of the cache. A collection's name means its primary cache.
        let listing = try await clients.local.listing(of: cache)
        let list = try await sessionStore.read()
        if let session = list.sessions.first(where: { $0.cache == listing.name }) { return session }
        // The cache is outside the collections, because the caller named it.
        guard let session = Session(listing, now: options.clock()) else { throw .notSignedIn(listing.principal.description) }
        return session
    }

    /// The principal that signs in: the named one, else the first one of a keytab, else ``defaultPrincipal(realm:)``.
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

    /// Returns the principal for a name. A name without a realm is in the given realm, else in the default realm. A realm that differs from
    /// a known one only in case is replaced by the known one.
    ///
    /// - Throws: `KerberosError`; `malformedPrincipal` for a Windows logon name, such as `DOMAIN\user`.
    public func principal(_ name: String, realm: String? = nil) async throws(KerberosError) -> Principal {
        if let principal = try? Principal(typed: name) { return try await inKnownRealm(principal) }
        guard let realm = if let realm { await knownRealm(realm) } else { try await defaultRealm() } else { throw .noRealm(name) }
        return try await inKnownRealm(Principal(typed: name, defaultRealm: realm))
    }

    /// Returns the known realm for a name that a person typed. Active Directory domains are written in any case, while Kerberos realms are
    /// case-sensitive.
    ///
    /// The known realms are those of the profiles, of krb5.conf and of the sessions. Uses no network.
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

/// Realm names in order of precedence.
struct KnownRealms {
    var names: [String]

    init(_ names: [String]) { self.names = names }

    /// The name itself if it is known; else the first known name that differs only in the case of ASCII letters; else the name itself.
    func realm(meant name: String) -> String {
        names.contains(name) ? name : names.first { $0.isEqualIgnoringCase(to: name) } ?? name
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
