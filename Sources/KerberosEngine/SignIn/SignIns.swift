internal import Kerberos
internal import SignOnPolicy
internal import SystemSupport

internal import struct Foundation.Date

/// Signs in principals: finds the principal, checks what its profile permits, requests the ticket and stores it in the shared caches.
final class SignIns: Sendable {
    /// Finds the principal that a name means.
    let names: PrincipalNames
    /// Requests the ticket.
    let exchange: InitialExchange
    /// The shared caches, which get the ticket.
    let store: SessionStore
    /// The passwords for automatic sign-in; nil stores and uses none.
    let secrets: StoredSecrets?
    /// Asks a person.
    let prompts: Prompts
    /// The sign-ins that are performed only if no session is valid long enough.
    let needed = SingleFlight<NeededSignIn, ValidSession>(endsWithItsWaiters: true)
    /// Returns the current time.
    let clock: @Sendable () -> Date

    init(
        _ options: KerberosExtension.Options,
        policy: DecisionPolicy,
        clients: RealmClients,
        store: SessionStore,
        sessions: any SessionReader
    ) {
        let permissions = SignInPermissions(policy: policy, clients: clients)
        names = PrincipalNames(
            policy: policy,
            local: clients.local,
            userName: options.userName,
            sessions: sessions,
            clientKeytab: options.clientKeytab,
            netBIOSName: { await clients.netBIOSName(of: $0) }
        )
        secrets = options.secretStore.map { StoredSecrets($0, permissions) }
        let passwords = PasswordChanges(options, names: names, clients: clients, store: store, secrets: secrets)
        exchange = InitialExchange(permissions, passwords: passwords, clock: options.clock)
        self.store = store
        prompts = Prompts(options)
        clock = options.clock
    }

    /// Signs in, and also returns the password that the KDC accepted, if the sign-in used one.
    ///
    /// - Parameter isUnattended: Whether no person requested the sign-in. If so, another signed-in principal stays the default one.
    func signIn(
        _ name: String?,
        realm: String? = nil,
        using given: InitialCredentialSource,
        options: InitialCredentialOptions = .init(),
        cache: CredentialCacheName? = nil,
        isUnattended: Bool = false
    ) async throws(KerberosError) -> (session: Session, password: Secret?) {
        let principal = try await names.principal(signingIn: name, realm: realm, using: keytab(given))
        return try await signIn(principal, using: given, options: options, cache: cache, isUnattended: isUnattended)
    }

    /// The same for a principal that has been found already.
    ///
    /// - Parameter list: The sessions, if they have been read.
    func signIn(
        _ principal: Principal,
        using given: InitialCredentialSource,
        options: InitialCredentialOptions = .init(),
        cache: CredentialCacheName? = nil,
        isUnattended: Bool = false,
        among list: SessionList? = nil
    ) async throws(KerberosError) -> (session: Session, password: Secret?) {
        let given = keytab(given)
        let source = try await exchange.permissions.permitted(given, realm: principal.realm)
        // Checks that a cache is available before the prompt for a password.
        if cache == nil { try await store.checkPlace(for: principal, among: list) }
        let answer: SignInTicket
        do throws(KerberosError) {
            answer = try await exchange.ticket(for: principal, using: source, options: options)
        } catch  where error.code == .unknownPrincipal && principal.isEnterpriseName {
            throw error.saying(
                "the KDC of \(principal.realm) knows no user principal name \(principal.displayName). Check its spelling. If the part "
                    + "after the @ is a realm: ksso login NAME --realm REALM"
            )
        }
        let realm = answer.credential.client.realm
        if realm != principal.realm {
            // Anyone on the network can send a referral, because it is not signed.
            guard await names.mayRefer(principal, to: realm) else { throw .unknownReferral(principal, to: answer.credential.client) }
            // The realm's profile may forbid this.
            _ = try await exchange.permissions.permitted(given, realm: realm)
        }
        let marks = SessionMark.all(for: given.kind, at: clock()).merging(SessionMark.requestedName(principal, of: answer)) { $1 }
        let session = try await store.keep(answer, marks: marks, cache: cache, isUnattended: isUnattended, among: list)
        return (session, answer.password)
    }

    /// The source, with the keytab of the options in place of the client keytab.
    private func keytab(_ source: InitialCredentialSource) -> InitialCredentialSource {
        if case .clientKeytab = source { names.clientKeytab } else { source }
    }
}

extension PrincipalNames {
    /// Whether the KDC may refer a name to another realm: only an enterprise name, whose realm the KDC chooses, and only to a known realm,
    /// or to one below the KDC's own. One above it may be a top-level domain, which anyone can answer for.
    fileprivate func mayRefer(_ principal: Principal, to realm: String) async -> Bool {
        guard principal.isEnterpriseName else { return principal.realm.isEqualIgnoringCase(to: realm) }
        if realm.hasSuffix(".\(principal.realm)") { return true }
        return await realmIfKnown(realm) == realm
    }
}

extension KerberosError {
    fileprivate static func unknownReferral(_ principal: Principal, to client: Principal) -> KerberosError {
        let message =
            "the KDC of \(principal.realm) referred to the realm \(client.realm.escapedForDisplay()), which no profile and no krb5.conf lists; "
            + "the ticket was discarded. If the account is there, sign in with: ksso login \(client)"
        return KerberosError(.policyRefused, subject: principal.displayName, message: message)
    }
}
