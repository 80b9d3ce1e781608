package import Kerberos

/// A session whose ticket is valid for as long as a caller requires, and where it comes from.
package struct ValidSession: Sendable {
    /// How a session was obtained by a call that signs in only if necessary.
    package enum Origin: Sendable {
        /// Its ticket was in the caches.
        case present
        /// Its ticket was renewed, or reacquired with a keytab or a stored password, without the credential of the call.
        case renewed
        /// The call signed in.
        case signedIn
    }

    /// The session.
    package let session: Session
    /// Where it comes from.
    package let origin: Origin
    /// How long the ticket had to be valid.
    let validity: Duration
}

/// Which session makes a sign-in unnecessary.
package enum SufficientSession: Sendable {
    /// None: the sign-in takes place in any case.
    case none
    /// A session of the principal whose ticket is valid now. If a validity is required, the same as ``presentInRealm``.
    case present
    /// A valid session of the principal; any valid session of the realm if no name is given and the profile names no principal.
    case presentInRealm
}

/// Identifies calls that can share one sign-in and its prompt.
struct NeededSignIn: Hashable {
    /// The principal; nil accepts any session of the realm.
    let wanted: Principal?
    /// The principal that signs in if there is no session, and the credential.
    let question: Question
}

/// What a sign-in requires after the caches were read.
private enum SignInNeed {
    /// Nothing: there is a session.
    case met(ValidSession)
    /// The principal signs in. The sessions are those that were read.
    case signIn(Principal, InitialCredentialOptions, SessionList)
}

extension KerberosExtension {
    /// Signs in unless a session is valid long enough. Reads the credential caches once. See `SingleSignOn`.
    @discardableResult
    package func signInIfNeeded(
        _ name: String? = nil,
        realm: String? = nil,
        using source: InitialCredentialSource,
        validFor validity: Duration = .seconds(300),
        options: InitialCredentialOptions = .init()
    ) async throws(KerberosError) -> Session {
        let (wanted, realm) = try await signIns.names.wanted(name, realm: realm, using: source)
        let standard = if let wanted { wanted } else { try await signIns.names.defaultPrincipal(realm: realm) }
        let key = NeededSignIn(wanted: wanted, question: Question(of: standard, source, under: policy))
        let signIn: @Sendable () async throws(KerberosError) -> ValidSession = { [self] () async throws(KerberosError) in
            switch try await need(of: wanted, orDefaultOf: realm, standard: standard, validFor: validity, options) {
            case .met(let valid): return valid
            case .signIn(let principal, let options, let list):
                let session = try await signIns.signIn(principal, using: source, options: options, among: list).session
                return ValidSession(session: session, origin: .signedIn, validity: validity)
            }
        }
        // The passwords of two callers may differ.
        if case .password = source { return try await signIn().session }
        while true {
            let found = try await signIns.needed.run(key, signIn)
            // The caller whose work this one joined may have required less.
            if found.validity >= validity || found.session.isValid(for: validity, from: signIns.clock()) { return found.session }
        }
    }

    /// Signs in unless there is a sufficient session. Reads the credential caches once.
    ///
    /// - Parameters:
    ///   - name: The principal's name, with or without a realm; nil is the first principal of the keytab, the profile's principal, or the
    ///     user.
    ///   - realm: The realm of a name without one; nil is the default realm.
    ///   - keytab: The keytab of the sign-in; nil if it uses another credential.
    ///   - sufficient: Which session makes the sign-in unnecessary.
    ///   - validity: How long the ticket must be valid; nil accepts every valid ticket. If no name is given and the profile names no
    ///     principal, any session of the realm will do. A ticket that expires sooner is renewed, or reacquired with a keytab or a stored
    ///     password. If this is not possible, its principal signs in.
    ///   - options: The options of the request for a ticket.
    ///   - cache: The cache for the ticket; nil selects one.
    ///   - source: Called only if a sign-in is necessary, with the principal that signs in; returns its credential.
    package func signIn(
        _ name: String?,
        realm: String?,
        keytab: InitialCredentialSource?,
        unless sufficient: SufficientSession,
        validFor validity: Duration?,
        options: InitialCredentialOptions,
        cache: CredentialCacheName?,
        using source: (Principal) async throws -> InitialCredentialSource
    ) async throws -> ValidSession {
        await offsets.follow(self.source)
        switch try await need(name, realm: realm, keytab: keytab, unless: sufficient, validFor: validity, options) {
        case .met(let valid): return valid
        case .signIn(let principal, let options, let list):
            let source = try await source(principal)
            let session = try await signIns.signIn(principal, using: source, options: options, cache: cache, among: list).session
            return ValidSession(session: session, origin: .signedIn, validity: .zero)
        }
    }

    /// The sufficient session, or else the principal that signs in.
    private func need(
        _ name: String?,
        realm: String?,
        keytab: InitialCredentialSource?,
        unless sufficient: SufficientSession,
        validFor validity: Duration?,
        _ options: InitialCredentialOptions
    ) async throws(KerberosError) -> SignInNeed {
        let names = signIns.names
        if let validity, sufficient != .none {
            let (wanted, realm) = try await names.wanted(name, realm: realm, using: keytab)
            return try await need(of: wanted, orDefaultOf: realm, validFor: validity, options)
        }
        let principal = try await names.principal(signingIn: name, realm: realm, using: keytab)
        let list = try await source.read()
        let found: Session? =
            switch sufficient {
            case .none: nil
            case .present: list.sessions(of: principal).first(where: \.isSignedIn)
            case .presentInRealm:
                list.session(of: try await names.wanted(name, realm: realm, using: keytab).principal, orDefaultOf: principal.realm)
            }
        if let found, found.isSignedIn { return .met(ValidSession(session: found, origin: .present, validity: .zero)) }
        return .signIn(principal, await signInOptions(options, in: principal.realm, validFor: validity), list)
    }

    /// The session that is valid long enough, or else the principal that signs in.
    ///
    /// - Parameters:
    ///   - wanted: The principal; nil accepts any session of the realm.
    ///   - standard: The principal that signs in if none is wanted and there is no session; nil is the realm's default one.
    /// - Throws: `KerberosError`; `kdcUnreachable` and similar errors, because a sign-in would fail for the same reason.
    private func need(
        of wanted: Principal?,
        orDefaultOf realm: String,
        standard: Principal? = nil,
        validFor validity: Duration,
        _ options: InitialCredentialOptions
    ) async throws(KerberosError) -> SignInNeed {
        await offsets.follow(source)
        let list = try await source.read()
        let found = list.session(of: wanted, orDefaultOf: realm)
        if let found, found.isValid(for: validity, from: signIns.clock()) {
            return .met(ValidSession(session: found, origin: .present, validity: validity))
        }
        if let session = try await renewed(wanted ?? found?.principal, orDefaultOf: realm, validFor: validity, in: list) {
            return .met(ValidSession(session: session, origin: .renewed, validity: validity))
        }
        let options = await signInOptions(options, in: realm, validFor: validity)
        if let principal = wanted ?? found?.principal ?? standard { return .signIn(principal, options, list) }
        return .signIn(try await signIns.names.defaultPrincipal(realm: realm), options, list)
    }

    /// A session that is valid long enough after its ticket was renewed, or reacquired with a keytab or a stored password; nil if a sign-in
    /// is necessary.
    private func renewed(
        _ principal: Principal?,
        orDefaultOf realm: String,
        validFor validity: Duration,
        in list: SessionList
    ) async throws(KerberosError) -> Session? {
        do throws(KerberosError) {
            var session = try await source.session(of: principal, orDefaultOf: realm, in: list)
            if !session.isValid(for: validity, from: signIns.clock()) { session = try await source.refresh(session, prompter: nil) }
            return session.isValid(for: validity, from: signIns.clock()) ? session : nil
        } catch  where [.kdcUnreachable, .realmUnknown, .busy, .canceled].contains(error.code) {
            throw error
        } catch {
            return nil
        }
    }

    /// The options of a sign-in whose ticket must be valid for some time, if the caller requires it. Requests a lifetime only if libkrb5's
    /// default is too short, so that krb5.conf decides otherwise.
    package func signInOptions(
        _ options: InitialCredentialOptions,
        in realm: String,
        validFor validity: Duration?
    ) async -> InitialCredentialOptions {
        guard let validity else { return options }
        // The ticket's lifetime begins at the KDC before the ticket arrives here.
        let lifetime = validity + .seconds(300)
        guard options.lifetime == nil, let standard = try? await clients.client(for: realm).defaultTicketLifetime(), standard < lifetime
        else { return options }
        var options = options
        options.lifetime = lifetime
        return options
    }
}
