internal import Kerberos
internal import SignOnPolicy

/// Acquires a session for a request if there is none: with the client keytab, the stored password or a prompt, in this order.
struct SessionAcquisition: Sendable {
    /// Signs in with the client keytab or a prompt.
    let signIns: SignIns
    /// Requests tickets with stored passwords; nil if there is no store.
    let secrets: StoredSecretSignIn?
    /// The pauses after refused keys.
    let backoff: SignInBackoff
    /// The caches that get the new session.
    let store: SessionStore

    /// Acquires a session.
    ///
    /// - Parameters:
    ///   - flight: What is wanted.
    ///   - found: The session that has expired; nil if there is none.
    ///   - list: The sessions that were read.
    func session(
        _ flight: SessionFlight,
        replacing found: Session?,
        in list: SessionList
    ) async throws(KerberosError) -> Session {
        let wanted = flight.principal
        if let session = try await sessionFromClientKeytab(wanted, realm: flight.realm, in: list) { return session }
        let mayAsk = flight.mayAsk && signIns.prompts.prompter != nil
        // The password is stored for the canonical name, while the wanted one may be another name of the account.
        let owner = found?.principal ?? wanted
        if let session = try await sessionFromStoredSecret(owner, realm: flight.realm, mayAsk: mayAsk, in: list) { return session }
        if mayAsk { return try await signIns.sessionByAsking(wanted ?? found?.principal, realm: flight.realm) }
        if flight.mayAsk { signIns.prompts.promptUnavailable() }
        if let damage = try await store.damageOfDefaultCache(list) { throw damage }
        if let found { throw .expired(found.principal) }
        if let wanted { throw .notSignedIn(wanted) }
        let isDefault = (try? await signIns.names.defaultPrincipal(realm: nil))?.realm == flight.realm
        throw .notSignedIn(toRealm: flight.realm, isDefault: isDefault)
    }

    /// Signs in with the client keytab if it has the principal's key, as GSSAPI does when no one is signed in. Returns nil if there is no
    /// such key.
    private func sessionFromClientKeytab(
        _ wanted: Principal?,
        realm: String,
        in list: SessionList
    ) async throws(KerberosError) -> Session? {
        do throws(KerberosError) {
            let principal =
                if let wanted { wanted } else { try await signIns.names.principal(signingIn: nil, realm: nil, using: .clientKeytab) }
            guard principal.realm == realm else { return nil }
            return try await backoff.attempt(principal) { () async throws(KerberosError) in
                try await signIns.signIn(principal, using: .clientKeytab, isUnattended: true, among: list).session
            }
        } catch  where [.keytabUnusable, .keytabEntryMissing].contains(error.code) {
            return nil
        }
    }

    /// Signs in with a stored password. Returns nil if there is none.
    ///
    /// - Parameter mayAsk: Whether the caller prompts for a password next. If so, a refused password returns nil instead of throwing.
    private func sessionFromStoredSecret(
        _ name: Principal?,
        realm: String,
        mayAsk: Bool,
        in list: SessionList
    ) async throws(KerberosError) -> Session? {
        guard let secrets else { return nil }
        let principal: Principal
        if let name {
            principal = name
        } else if let own = try? await signIns.names.defaultPrincipal(realm: realm) {
            principal = own
        } else {
            return nil
        }
        do throws(KerberosError) {
            guard let ticket = try await secrets.ticket(of: principal, ignoresPause: false) else { return nil }
            let answer = SignInTicket(ticket)
            let marks = SessionMark.all(for: StoredSecretCredential(), at: store.now)
                .merging(SessionMark.requestedName(principal, of: answer)) { $1 }
            return try await store.keep(answer, marks: marks, isUnattended: true, among: list)
        } catch  where mayAsk && error.isRefusalOfPassword {
            return nil
        }
    }
}
