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

    /// The same, with the password that the KDC took, if it was one.
    func acquire(
        _ name: String?,
        realm: String?,
        using source: InitialCredentialSource,
        options: InitialCredentialOptions,
        cache: CredentialCacheName?
    ) async throws(KerberosError) -> (session: Session, password: Secret?) {
        let principal = try await principal(name, realm: realm, source: source)
        let given = source
        let source = try await permitted(given, realm: principal.realm)
        // Before anyone is asked for a password: is there a cache that can take the tickets?
        if cache == nil { try await sessionStore.checkPlace(for: principal) }
        let options = policy.initialCredentialOptions(for: principal, options)
        let answer = try await initialCredential(for: principal, using: source, options: options)
        let marks = SessionMark.all(for: given, at: self.options.clock())
        return (try await keep(answer, marks: marks, cache: cache), answer.password)
    }

    /// Leaves the ticket of a sign-in in the cache that is named, or chosen.
    func keep(_ answer: SignInTicket, marks: [String: String], cache: CredentialCacheName? = nil) async throws(KerberosError) -> Session {
        let ticket = answer.credential
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
        if (try? await client.supportsCollections(target)) == true { try? await client.makePrimary(target) }
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
        guard let realm = if let realm { realm } else { try await defaultRealm() } else { throw .noRealm(user ?? "") }
        let configured = policy.configurations.first { $0.realm == realm }?.principalName
        guard let name = configured ?? user else {
            throw KerberosError(.malformedPrincipal, subject: realm, message: "nobody is named. Say who signs in, as name@REALM.")
        }
        return try Principal(name, defaultRealm: realm)
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

    private func principal(
        _ name: String?,
        realm: String?,
        source: InitialCredentialSource
    ) async throws(KerberosError) -> Principal {
        switch (name, source) {
        case (nil, .keytab), (nil, .clientKeytab): return try await clients.local.firstPrincipal(inKeytab: source)
        case (nil, _): return try await defaultPrincipal(realm: realm)
        case (.some(let name), _): return try await self.principal(name, realm: realm)
        }
    }

    /// The principal that a name means: with no realm in it, the given realm's, else the default realm's.
    public func principal(_ name: String, realm: String? = nil) async throws(KerberosError) -> Principal {
        if let principal = try? Principal(name) { return principal }
        guard let realm = if let realm { realm } else { try await defaultRealm() } else { throw .noRealm(name) }
        return try Principal(name, defaultRealm: realm)
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
