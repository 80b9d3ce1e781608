internal import Kerberos
internal import SignOnPolicy

internal import struct Foundation.Date

/// Requests ticket-granting tickets from KDCs with the credentials of principals.
final class InitialExchange: Sendable {
    /// What the profiles permit.
    let permissions: SignInPermissions
    /// Changes passwords that have expired.
    let passwords: PasswordChanges
    private let clock: @Sendable () -> Date
    /// The requests with keys that run.
    let keyFlights = SingleFlight<KeyFlight, Credential>(endsWithItsWaiters: true)

    init(_ permissions: SignInPermissions, passwords: PasswordChanges, clock: @escaping @Sendable () -> Date) {
        self.permissions = permissions
        self.passwords = passwords
        self.clock = clock
    }

    /// This machine's time.
    var now: Date { clock() }

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
        return try await source.kind.ticket(for: principal, using: source, options: options, by: self)
    }

    /// The client that sends the requests of a realm, one after the other.
    func client(for realm: String) -> KerberosClient { permissions.clients.client(for: realm) }

    /// A client of its own for a sign-in that prompts a person, because the answer may take minutes and the realm's other requests must not
    /// wait for it.
    func promptingClient(for realm: String) -> KerberosClient { permissions.clients.makeClient(for: realm) }

    /// Adds the texts of the realm's profile to a sign-in's prompts.
    func labelled(_ prompter: any Prompter, in realm: String) -> LabelledPrompter {
        LabelledPrompter(prompter, permissions.policy.signInRules(of: realm))
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
