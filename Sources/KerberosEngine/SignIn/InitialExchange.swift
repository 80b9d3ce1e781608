internal import HTTPNegotiate
internal import Kerberos

internal import struct Foundation.Date

/// Requests ticket-granting tickets from KDCs with the credentials of principals.
///
/// Concurrent requests with one key share one request to the KDC, because the KDC counts each wrong one and may lock the account. Requests
/// with a password, a prompter or a certificate are not shared.
final class InitialExchange: Sendable {
    let permissions: SignInPermissions
    let passwords: PasswordChanges
    private let clock: @Sendable () -> Date
    let keyFlights = SingleFlight<KeyFlight, Credential>(endsWithItsWaiters: true)

    init(_ permissions: SignInPermissions, passwords: PasswordChanges, clock: @escaping @Sendable () -> Date) {
        self.permissions = permissions
        self.passwords = passwords
        self.clock = clock
    }

    /// Requests a ticket-granting ticket from the KDC. If the password has expired and there is a prompter, changes it first.
    ///
    /// - Parameter options: The options of the request. If a profile of the realm delegates, a forwardable ticket is requested unless these
    ///   options say otherwise.
    func ticket(
        for principal: Principal,
        using source: InitialCredentialSource,
        options: InitialCredentialOptions = .init()
    ) async throws(KerberosError) -> SignInTicket {
        let options = permissions.policy.initialCredentialOptions(for: principal, options)
        switch source {
        case .password(let password): return try await ticket(for: principal, password: password, options: options)
        case .prompter(let prompter): return try await ticket(for: principal, asking: prompter, options: options)
        case .certificate(let identity, let prompter):
            // A separate client, because the PIN may take minutes and the realm's other requests must not wait for it.
            let client = permissions.clients.makeClient(for: principal.realm)
            let labelled = LabelledPrompter(prompter, permissions.policy.signInRules(of: principal.realm))
            let ticket = try await client.initialCredential(for: principal, using: .certificate(identity, labelled), options: options)
            return SignInTicket(ticket, clockOffset: client.learnedClockOffset)
        case .keytab(let name): return try await ticket(for: principal, key: source, of: name, options: options)
        case .clientKeytab: return try await ticket(for: principal, key: source, of: nil, options: options)
        }
    }

    private func ticket(
        for principal: Principal,
        key: InitialCredentialSource,
        of keytab: String?,
        options: InitialCredentialOptions
    ) async throws(KerberosError) -> SignInTicket {
        let client = permissions.clients.client(for: principal.realm)
        let flight = KeyFlight(principal: principal, keytab: keytab, options: options)
        let ticket = try await keyFlights.run(flight) { () async throws(KerberosError) in
            try await client.initialCredential(for: principal, using: key, options: options)
        }
        return SignInTicket(ticket)
    }

    private func ticket(
        for principal: Principal,
        password: Secret,
        options: InitialCredentialOptions
    ) async throws(KerberosError) -> SignInTicket {
        let client = permissions.clients.client(for: principal.realm)
        do throws(KerberosError) {
            let ticket = try await client.initialCredential(for: principal, using: .password(password), options: options)
            return SignInTicket(ticket, password: password)
        } catch  where error.code == .passwordExpired {
            throw expired(error)
        }
    }

    private func ticket(
        for principal: Principal,
        asking prompter: any Prompter,
        options: InitialCredentialOptions
    ) async throws(KerberosError) -> SignInTicket {
        let policy = permissions.policy
        // A separate client, because the answer may take minutes and the realm's other requests must not wait for it.
        let client = permissions.clients.makeClient(for: principal.realm)
        let memory = PasswordMemory(LabelledPrompter(prompter, policy.signInRules(of: principal.realm)))
        do throws(KerberosError) {
            let ticket = try await client.initialCredential(for: principal, using: .prompter(memory), options: options)
            return SignInTicket(ticket, clockOffset: client.learnedClockOffset, password: memory.lastPassword)
        } catch  where error.code == .passwordExpired {
            guard policy.configurations.passwordRules(for: principal.realm).isChangedHere else { throw expired(error) }
            let new = try await passwords.changeExpired(of: principal, asking: memory, client: client)
            let changed = clock()
            let ticket: Credential
            do throws(KerberosError) {
                ticket = try await client.initialCredential(for: principal, using: .prompter(memory), options: options)
            } catch  where [.passwordExpired, .wrongPassword].contains(error.code) {
                // A replica KDC receives the change from the primary KDC with a delay.
                throw error.saying(
                    "the password was changed, but the KDC that answered does not have it yet. Sign in again in a few seconds."
                )
            }
            return SignInTicket(ticket, passwordChanged: changed, clockOffset: client.learnedClockOffset, password: new)
        }
    }

    /// The error for an expired password, with the place to change it if that is not here.
    private func expired(_ error: KerberosError) -> KerberosError {
        guard let realm = error.subject.split(separator: "@").last else { return error }
        let rules = permissions.policy.configurations.passwordRules(for: String(realm))
        if let url = rules.changeURL { return error.saying("the password has expired. Change it at \(url), then sign in again.") }
        guard !rules.isChangeAllowed else { return error }
        return error.saying("the password has expired, and \(rules.sourceName) does not allow password changes. Ask your administrator.")
    }
}

/// The ticket-granting ticket of a sign-in, and what the sign-in changed or learned.
struct SignInTicket {
    let credential: Credential
    /// When the password was changed during the sign-in; nil if it was not.
    let passwordChanged: Date?
    /// How many seconds the KDC's clock is ahead, if the sign-in had its own client that learned it; nil uses the offset of the realm's
    /// client.
    let clockOffset: Double?

    /// The password that the KDC accepted; nil if the sign-in used none.
    let password: Secret?

    init(_ credential: Credential, passwordChanged: Date? = nil, clockOffset: Double? = nil, password: Secret? = nil) {
        self.credential = credential
        self.passwordChanged = passwordChanged
        self.clockOffset = clockOffset
        self.password = password
    }
}

/// Identifies sign-ins with a key that can share one request.
struct KeyFlight: Hashable {
    let principal: Principal
    /// The keytab's name; nil is the client keytab.
    let keytab: String?
    let options: InitialCredentialOptions
}

extension DecisionPolicy {
    /// The options of an initial request for a principal. Requests a forwardable ticket if a profile of the realm delegates, so that
    /// krb5.conf need not do so.
    func initialCredentialOptions(
        for principal: Principal,
        _ options: InitialCredentialOptions = .init()
    ) -> InitialCredentialOptions {
        var options = options
        if options.isForwardable == nil, configurations.contains(where: { $0.delegates(for: principal) }) { options.isForwardable = true }
        return options
    }
}

extension ExtensionConfiguration {
    /// Whether this profile allows servers to get the principal's own ticket.
    fileprivate func delegates(for principal: Principal) -> Bool {
        guard !(delegationHosts.isEmpty && unconditionalDelegationHosts.isEmpty) else { return false }
        return realm == principal.realm || principalName?.hasSuffix("@\(principal.realm)") == true
    }
}
