public import Kerberos

/// A session whose ticket is valid for as long as a caller requires.
package struct ValidSession: Sendable {
    /// The session.
    package let session: Session
    /// Whether its ticket was renewed or acquired for the caller.
    package let isNew: Bool
    /// How long the ticket had to be valid.
    let validity: Duration
}

/// What callers of a sign-in that may not be needed have in common: they share one sign-in and its prompt.
struct NeededSignIn: Hashable {
    /// The principal; nil accepts any session of the realm.
    let wanted: Principal?
    /// The principal that signs in if there is no session, and the credential.
    let question: Question
}

extension KerberosExtension {
    /// Signs in unless a session is valid long enough.
    ///
    /// If no name is given and the profile names no principal, any session of the realm will do, such as that of a principal whose name is
    /// not the user's. A ticket that expires sooner is renewed, or reacquired with a keytab or a stored password. Only if this is not
    /// possible is the source used. Concurrent callers that prompt, or have the same keytab, share one sign-in.
    ///
    /// - Parameters:
    ///   - name: The principal's name, with or without a realm; nil is the profile's principal, else the one that is signed in, else the
    ///     user.
    ///   - realm: The realm of a name without one; nil is ``defaultRealm()``.
    ///   - source: What to sign in with; see ``signIn(_:realm:using:options:cache:)``.
    ///   - validity: How long the ticket must be valid. If `options` have no lifetime, one that is long enough is requested. A KDC may
    ///     issue tickets that are valid for less: then every call signs in.
    ///   - options: The options of the request for a ticket; those of the first caller apply.
    /// - Returns: The session.
    /// - Throws: `KerberosError`; `kdcUnreachable` also if the present ticket is valid, but not long enough.
    @discardableResult
    public func signInIfNeeded(
        _ name: String? = nil,
        realm: String? = nil,
        using source: InitialCredentialSource,
        validFor validity: Duration = .seconds(300),
        options: InitialCredentialOptions = .init()
    ) async throws(KerberosError) -> Session {
        let (wanted, realm) = try await signIns.names.wanted(name, realm: realm, using: source)
        let standard = if let wanted { wanted } else { try await defaultPrincipal(realm: realm) }
        let key = NeededSignIn(wanted: wanted, question: Question(of: standard, source, under: policy))
        let signIn: @Sendable () async throws(KerberosError) -> ValidSession = { [self] () async throws(KerberosError) in
            if let valid = try await validSession(of: wanted, orDefaultOf: realm, validFor: validity) { return valid }
            let present = try await sessions().session(of: wanted, orDefaultOf: realm)
            let options = await signInOptions(options, in: realm, validFor: validity)
            let name = (wanted ?? present?.principal)?.description
            let session = try await self.signIn(name, realm: realm, using: source, options: options)
            return ValidSession(session: session, isNew: true, validity: validity)
        }
        // The passwords of two callers may differ.
        if case .password = source { return try await signIn().session }
        while true {
            let found = try await signIns.needed.run(key, signIn)
            // The caller whose work this one joined may have required less.
            if found.validity >= validity || found.session.isValid(for: validity, from: signIns.clock()) { return found.session }
        }
    }

    /// The principal whose session makes a sign-in unnecessary, and its realm. The principal is nil if neither the caller nor the profile
    /// names one, so that any session of the realm will do.
    package func wantedPrincipal(
        _ name: String?,
        realm: String?,
        using source: InitialCredentialSource?
    ) async throws(KerberosError) -> (principal: Principal?, realm: String) {
        try await signIns.names.wanted(name, realm: realm, using: source)
    }

    /// A session that is valid long enough, without a person: the present one, or else renewed, or reacquired with a keytab or a stored
    /// password.
    ///
    /// - Parameters:
    ///   - wanted: The principal; nil accepts any session of the realm.
    ///   - realm: The realm.
    ///   - validity: How long the ticket must be valid.
    /// - Returns: The session; nil if a sign-in is necessary.
    /// - Throws: `KerberosError`; `kdcUnreachable` and the like, because a sign-in would fail for the same reason, after the same wait.
    package func validSession(
        of wanted: Principal?,
        orDefaultOf realm: String,
        validFor validity: Duration
    ) async throws(KerberosError) -> ValidSession? {
        let found = try await sessions().session(of: wanted, orDefaultOf: realm)
        if let found, found.isValid(for: validity, from: signIns.clock()) {
            return ValidSession(session: found, isNew: false, validity: validity)
        }
        do throws(KerberosError) {
            await offsets.follow(source)
            var session = try await source.session(of: wanted ?? found?.principal, orDefaultOf: realm)
            if !session.isValid(for: validity, from: signIns.clock()) { session = try await source.refresh(session, prompter: nil) }
            guard session.isValid(for: validity, from: signIns.clock()) else { return nil }
            return ValidSession(session: session, isNew: true, validity: validity)
        } catch  where [.kdcUnreachable, .realmUnknown, .busy, .canceled].contains(error.code) {
            throw error
        } catch {
            return nil
        }
    }

    /// The options of a sign-in whose ticket must be valid for some time. Requests a lifetime only if libkrb5's default is too short, so
    /// that krb5.conf decides otherwise.
    package func signInOptions(
        _ options: InitialCredentialOptions,
        in realm: String,
        validFor validity: Duration
    ) async -> InitialCredentialOptions {
        // The ticket's lifetime begins at the KDC before the ticket arrives here.
        let lifetime = validity + .seconds(300)
        guard options.lifetime == nil, let standard = try? await clients.client(for: realm).defaultTicketLifetime(), standard < lifetime
        else { return options }
        var options = options
        options.lifetime = lifetime
        return options
    }
}
