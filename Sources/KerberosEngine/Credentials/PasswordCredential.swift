internal import Kerberos
internal import SignOnPolicy

/// A typed password, or other answers to libkrb5's prompts. Its ticket is renewed as long as it is renewable.
struct PasswordCredential: SignInCredential {
    static let name = "password"
    let text = "ksso with a password"
    static let reacquisition = Session.Reacquisition.none
    let acquisition = Session.Acquisition.password
    let marks: [String: String] = [:]

    init() {}

    init(marks: [String: String]) {}

    func source(askedBy prompter: any Prompter) -> InitialCredentialSource { .prompter(prompter) }

    /// A password names nothing.
    func checkNaming(in realm: String, by permissions: SignInPermissions) async throws(KerberosError) {}

    func permitted(
        _ source: InitialCredentialSource,
        in realm: String,
        by permissions: SignInPermissions
    ) async throws(KerberosError) -> InitialCredentialSource {
        guard permissions.policy.signInRules(of: realm).allowsPassword else {
            throw .forbidden("allowPassword", in: realm, "Sign in with a certificate: ksso login --certificate IDENTITY")
        }
        return source
    }

    /// Requests a ticket. Concurrent requests are not shared, because their passwords may differ. A wrong password is sent once.
    func ticket(
        for principal: Principal,
        using source: InitialCredentialSource,
        options: InitialCredentialOptions,
        by exchange: InitialExchange
    ) async throws(KerberosError) -> SignInTicket {
        if case .prompter(let prompter) = source {
            return try await ticket(for: principal, asking: prompter, options: options, by: exchange)
        }
        let password: Secret? = if case .password(let password) = source { password } else { nil }
        do throws(KerberosError) {
            let ticket = try await exchange.client(for: principal.realm).initialCredential(for: principal, using: source, options: options)
            return SignInTicket(ticket, password: password)
        } catch  where error.code == .passwordExpired {
            throw expired(error, in: principal.realm, exchange.passwords)
        }
    }

    func reacquire(
        _ session: Session,
        with renewal: Renewal,
        prompter: (any Prompter)?
    ) async throws(KerberosError) -> Session {
        try await renewal.renew(session)
    }

    /// Requests a ticket with what a person enters. If the password has expired and the profile allows it, changes it first.
    private func ticket(
        for principal: Principal,
        asking prompter: any Prompter,
        options: InitialCredentialOptions,
        by exchange: InitialExchange
    ) async throws(KerberosError) -> SignInTicket {
        let client = exchange.promptingClient(for: principal.realm)
        let memory = PasswordMemory(exchange.labelled(prompter, in: principal.realm))
        do throws(KerberosError) {
            let ticket = try await client.initialCredential(for: principal, using: .prompter(memory), options: options)
            return SignInTicket(ticket, clockOffset: client.learnedClockOffset, password: memory.lastPassword)
        } catch  where error.code == .passwordExpired {
            guard exchange.passwords.rules(for: principal.realm).isChangedHere else {
                throw expired(error, in: principal.realm, exchange.passwords)
            }
            let new = try await exchange.passwords.changeExpired(of: principal, asking: memory, client: client)
            let changed = exchange.now
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
    private func expired(_ error: KerberosError, in realm: String, _ passwords: PasswordChanges) -> KerberosError {
        let rules = passwords.rules(for: realm)
        if let url = rules.changeURL { return error.saying("the password has expired. Change it at \(url), then sign in again.") }
        guard !rules.isChangeAllowed else { return error }
        return error.saying("the password has expired, and \(rules.sourceName) does not allow password changes. Ask your administrator.")
    }
}
