internal import HTTPNegotiate
internal import Kerberos

internal import struct Foundation.Date

extension KerberosExtension {
    /// Asks the KDC for a ticket-granting ticket; has an expired password changed first where somebody can be asked. A key is sent once for
    /// all who send it at the same time: each wrong one is counted there, and enough of them lock the account. What a person gives is the
    /// one caller's own.
    func initialCredential(
        for principal: Principal,
        using source: InitialCredentialSource,
        options: InitialCredentialOptions
    ) async throws(KerberosError) -> SignInTicket {
        let client = clients.client(for: principal.realm)
        let keytab: String?
        switch source {
        case .password(let password):
            do throws(KerberosError) {
                let ticket = try await client.initialCredential(for: principal, using: source, options: options)
                return SignInTicket(ticket, password: password)
            } catch  where error.code == .passwordExpired {
                throw expired(error)
            }
        case .prompter(let prompter): return try await initialCredential(for: principal, asking: prompter, options: options)
        case .certificate(let identity, let prompter):
            // A person may take minutes to give the PIN, which the realm's other requests must not wait for.
            let client = clients.makeClient(for: principal.realm)
            let labelled = LabelledPrompter(prompter, policy.signInRules(of: principal.realm))
            let ticket = try await client.initialCredential(for: principal, using: .certificate(identity, labelled), options: options)
            return SignInTicket(ticket, clockOffset: client.learnedClockOffset)
        case .keytab(let name): keytab = name
        case .clientKeytab: keytab = nil
        }
        let flight = KeyFlight(principal: principal, keytab: keytab, options: options)
        let ticket = try await keyFlights.run(flight) { () async throws(KerberosError) in
            try await client.initialCredential(for: principal, using: source, options: options)
        }
        return SignInTicket(ticket)
    }

    private func initialCredential(
        for principal: Principal,
        asking prompter: any Prompter,
        options: InitialCredentialOptions
    ) async throws(KerberosError) -> SignInTicket {
        // A person may take minutes to answer, which the realm's other requests must not wait for.
        let client = clients.makeClient(for: principal.realm)
        let memory = PasswordMemory(LabelledPrompter(prompter, policy.signInRules(of: principal.realm)))
        do throws(KerberosError) {
            let ticket = try await client.initialCredential(for: principal, using: .prompter(memory), options: options)
            return SignInTicket(ticket, clockOffset: client.learnedClockOffset, password: memory.lastPassword)
        } catch  where error.code == .passwordExpired {
            guard policy.configurations.passwordRules(for: principal.realm).isChangedHere else { throw expired(error) }
            memory.announce("The password of \(principal) has expired and has to be changed.")
            let new = try await changePassword(of: principal, asking: memory, client: client)
            await replaceStoredSecret(of: principal, with: new)
            let changed = self.options.clock()
            let ticket: Credential
            do throws(KerberosError) {
                ticket = try await client.initialCredential(for: principal, using: .prompter(memory), options: options)
            } catch  where [.passwordExpired, .wrongPassword].contains(error.code) {
                // A KDC that has its data from another one learns of the change a while later.
                throw error.saying("the password was changed, and the KDC that answered does not know it yet. Sign in again in a moment.")
            }
            return SignInTicket(ticket, passwordChanged: changed, clockOffset: client.learnedClockOffset, password: new)
        }
    }

    /// Where an expired password is changed, if not here.
    private func expired(_ error: KerberosError) -> KerberosError {
        guard let realm = error.subject.split(separator: "@").last else { return error }
        let rules = policy.configurations.passwordRules(for: String(realm))
        if let url = rules.changeURL { return error.saying("the password has expired. Change it at \(url), then sign in again.") }
        guard !rules.isChangeAllowed else { return error }
        return error.saying("the password has expired, and \(rules.sourceName) does not allow to change it here. Ask your administrator.")
    }
}

/// The ticket-granting ticket of a sign-in, and what happened on the way to it.
struct SignInTicket {
    let credential: Credential
    /// When the password was changed on the way.
    let passwordChanged: Date?
    /// By how many seconds the KDC's clock is ahead, where a client of the sign-in's own learned it; nil is what the realm's client knows.
    let clockOffset: Double?

    /// The password that the KDC took, if it was one.
    let password: Secret?

    init(_ credential: Credential, passwordChanged: Date? = nil, clockOffset: Double? = nil, password: Secret? = nil) {
        self.credential = credential
        self.passwordChanged = passwordChanged
        self.clockOffset = clockOffset
        self.password = password
    }
}

/// What sign-ins by a key must agree on to be one.
struct KeyFlight: Hashable {
    let principal: Principal
    /// Nil is the client keytab.
    let keytab: String?
    let options: InitialCredentialOptions
}

extension DecisionPolicy {
    /// What to ask of the KDC for a principal: a forwardable ticket where a server may have a copy of it, which krb5.conf need not say
    /// then.
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
    /// Whether a server may get this principal's own ticket.
    fileprivate func delegates(for principal: Principal) -> Bool {
        guard !(delegationHosts.isEmpty && unconditionalDelegationHosts.isEmpty) else { return false }
        return realm == principal.realm || principalName?.hasSuffix("@\(principal.realm)") == true
    }
}
