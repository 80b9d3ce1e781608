public import HTTPNegotiate
public import Kerberos

public import struct Foundation.Date
public import struct Foundation.URL

/// The credential extension in this process: profile, host rule, realm, session, service ticket, SPNEGO token.
///
/// Safe to use from any number of tasks. One service ticket is asked for once, however many wait for it; no lock is held across an
/// await, and no call that blocks runs on the threads that Swift's tasks share.
public final class KerberosExtension: CredentialExtension {
    /// What decides which hosts are answered.
    public let policy: DecisionPolicy
    let options: Options
    let clients: RealmClients
    let sessionStore: SessionStore
    let initiators: InitiatorStore
    let keytabSession: KeytabSession?
    let ticketFlights = SingleFlight<TicketFlight, InitiatorCredential>()
    let sessionFlights = SingleFlight<SessionFlight, Session>()
    /// Those that may ask a person, who is not kept at a question that nobody waits for.
    let askingTicketFlights = SingleFlight<TicketFlight, InitiatorCredential>(endsWithItsWaiters: true)
    let askingFlights = SingleFlight<SessionFlight, Session>(endsWithItsWaiters: true)
    let refreshFlights = SingleFlight<RefreshFlight, Session>(endsWithItsWaiters: true)
    let keyFlights = SingleFlight<KeyFlight, Credential>(endsWithItsWaiters: true)
    let questionFlights = SingleFlight<Question, Session>(endsWithItsWaiters: true)
    let questionGate = QuestionGate()
    let guestGate = GuestGate()
    let clockWatch: ClockWatch
    let clockFlights = SingleFlight<Int, Bool>()
    let keyRefusals: KeyRefusals
    let refusedTickets: RefusedTickets
    let refusedServiceTickets: RefusedServiceTickets
    let replacementFlights = SingleFlight<ReplacementFlight, Bool>()
    let storedSecrets: StoredSecrets?
    /// Whoever stops waiting leaves the attempt to end: a wrong password that was sent must not be sent again.
    let storedSecretFlights = SingleFlight<Principal, Credential?>()

    /// An extension for these profiles. Nothing is read or sent before the first call.
    public init(_ options: Options) {
        self.options = options
        policy = DecisionPolicy(options.configurations)
        let clients = RealmClients(options)
        self.clients = clients
        sessionStore = SessionStore(options, local: clients.local)
        initiators = InitiatorStore()
        clockWatch = ClockWatch(wall: options.clock, uptime: options.uptime)
        keyRefusals = KeyRefusals(clock: options.clock)
        refusedTickets = RefusedTickets(clock: options.clock)
        refusedServiceTickets = RefusedServiceTickets(clock: options.clock)
        storedSecrets = options.secretStore.map(StoredSecrets.init)
        keytabSession =
            switch options.credential {
            case .sessions: nil
            case .keytab(let source, let principal):
                KeytabSession(
                    source,
                    principal: principal,
                    policy: policy,
                    clients: clients,
                    clock: options.clock
                )
            }
    }

    /// The verdict for a URL; no network, no cache.
    public func decision(for url: URL) -> AuthorizationDecision { policy.decision(for: url) }

    /// Answers a challenge with an `Authorization` header; or signs in, refreshes, signs out, for the realm that covers the URL. An
    /// operation that is not known, and a URL that no rule covers, are not handled, with the reasons. A sign-in asks only where the request
    /// may and there is a prompter; a refresh and a sign-out ask nobody.
    ///
    /// The token is bound to the request's `channelBindings` where the plan binds and the scheme is https. Where the plan delegates, the
    /// KDC is asked for a ticket to pass on, by GSSAPI, which finds the KDC in the krb5.conf of this process (`KRB5_CONFIG`, else
    /// /etc/krb5.conf) or in DNS, whatever the profile says. That a server gets no ticket all the same is no error: `isDelegated` of the
    /// grant's exchange says it, and ``explanation(for:)`` says why.
    ///
    /// - Throws: `AuthorizationError`; `notSignedIn` when nobody is, `notInteractive` when a ticket can't be refreshed without a person,
    ///   `kdcUnreachable`, `failed` with the cause.
    public func beginAuthorization(with request: AuthorizationRequest) async throws(AuthorizationError) -> AuthorizationOutcome {
        let decision = policy.decision(for: request.url)
        guard let plan = decision.plan else { return .notHandled(decision.reasons) }
        switch request.operation {
        case .implicit:
            return .headers(try await grant(for: plan, request: request))
        case .login, .refresh, .logout:
            do throws(KerberosError) {
                return .completed(try await perform(request.operation, plan: plan, request: request)?.reply)
            } catch {
                throw AuthorizationError(error)
            }
        default:
            let detail = "the operation \(request.operation) is not known."
            return .notHandled([DecisionReason(rule: "operation", verdict: .failed, detail: detail)])
        }
    }

    /// Who would answer a request now: the session and its ticket are looked for, and asked for, as for a token, which is not made. Nil for
    /// a URL that no rule covers and an operation that sends no token.
    ///
    /// - Throws: `AuthorizationError`, as ``beginAuthorization(with:)`` does.
    public func identity(for request: AuthorizationRequest) async throws(AuthorizationError) -> AuthorizationIdentity? {
        guard request.operation == .implicit, let plan = policy.decision(for: request.url).plan else { return nil }
        return plan.identity(with: try await initiatorCredential(for: plan, request: request))
    }

    /// A grant from a ticket that is ready to make tokens, made on the caller's thread in about a tenth of a millisecond. Nil where session
    /// or ticket would have to be looked for, where the KDC has a say, since the user's own ticket may go along, and for a URL that no rule
    /// covers.
    public func readyGrant(for request: AuthorizationRequest) async -> AuthorizationGrant? {
        guard request.operation == .implicit, let plan = policy.decision(for: request.url).plan else { return nil }
        return readyGrant(for: plan, request: request)
    }

    /// The session that the operation leaves behind; nil after a sign-out.
    private func perform(
        _ operation: AuthorizationOperation,
        plan: AuthorizationPlan,
        request: AuthorizationRequest
    ) async throws(KerberosError) -> Session? {
        let mayAsk = request.isUserInterfaceEnabled && operation == .login
        let session = try await session(for: plan, principal: request.principal, mayAsk: mayAsk)
        switch operation {
        case .refresh: return try await refresh(session)
        case .logout:
            try await signOut(session.principal)
            return nil
        default: return session  // whoever asked to sign in is signed in now
        }
    }
}

extension KerberosExtension {
    /// What an extension works with.
    public struct Options: Sendable {
        /// The profiles in force.
        public var configurations: [ExtensionConfiguration]
        /// Whose tickets answer.
        public var credential: Credential
        /// The krb5.conf that stands behind the profiles.
        public var base: RealmConfiguration.Base
        /// The default credential cache; nil is what `KRB5CCNAME`, krb5.conf or the library say.
        public var defaultCacheName: String?
        /// The cache of a ticket that protects sign-ins and changes of passwords; see `RealmConfiguration/armorCache`. Nil is
        /// what a realm's profile says.
        public var armorCache: CredentialCacheName?
        /// Where an agent keeps the caches whose names begin with `KCM:`; nil is what krb5.conf says (`kcm_socket`).
        public var cacheSocket: String?
        /// A private folder for the caches of further principals, where the default cache can hold but one.
        public var additionalCacheDirectory: String?
        /// Who signs in where neither the caller nor the profile names anybody.
        public var userName: String?
        /// Finds that person's own name, no part of which belongs into a complex password. Called when one is changed alone, since it may
        /// ask a directory.
        public var displayName: @Sendable () async -> String?
        /// Who is asked when a request that may ask finds nobody signed in.
        public var prompter: (any Prompter)?
        /// Called when such a request finds nobody signed in, and there is no prompter.
        public var nobodyToAsk: @Sendable () -> Void
        /// Where passwords are kept that sign in by themselves; nil keeps and uses none.
        public var secretStore: (any SecretStore)?
        /// Gets libkrb5's trace, line by line.
        public var trace: (@Sendable (String) -> Void)?
        /// What time it is.
        public var clock: @Sendable () -> Date
        /// Seconds by a clock that is never set and counts the time that the machine sleeps, so that a change of ``clock`` is noticed; nil
        /// where it is not looked for.
        package var uptime: (@Sendable () -> Double)?

        /// Whose tickets answer.
        public enum Credential: Sendable {
            /// Those of the signed-in principals, in the credential caches that all programs share.
            case sessions
            /// A service's own, from its keytab, kept in this process's memory and acquired again before they expire.
            case keytab(InitialCredentialSource, principal: String?)
        }

        /// Options for profiles; the rest is as on a machine of one user.
        public init(
            configurations: [ExtensionConfiguration],
            credential: Credential = .sessions,
            base: RealmConfiguration.Base = .system,
            defaultCacheName: String? = nil,
            armorCache: CredentialCacheName? = nil,
            cacheSocket: String? = nil,
            additionalCacheDirectory: String? = nil,
            userName: String? = nil,
            displayName: @escaping @Sendable () async -> String? = { nil },
            prompter: (any Prompter)? = nil,
            nobodyToAsk: @escaping @Sendable () -> Void = {},
            secretStore: (any SecretStore)? = nil,
            trace: (@Sendable (String) -> Void)? = nil,
            clock: (@Sendable () -> Date)? = nil
        ) {
            self.configurations = configurations
            self.credential = credential
            self.base = base
            self.defaultCacheName = defaultCacheName
            self.armorCache = armorCache
            self.cacheSocket = cacheSocket
            self.additionalCacheDirectory = additionalCacheDirectory
            self.userName = userName
            self.displayName = displayName
            self.prompter = prompter
            self.nobodyToAsk = nobodyToAsk
            self.secretStore = secretStore
            self.trace = trace
            self.clock = clock ?? { Date() }
            // A clock of the caller's own says nothing of the machine's.
            uptime = clock == nil ? ClockWatch.machineUptime : nil
        }
    }
}

extension KerberosExtension {
    /// libkrb5 for a realm, set up as for requests: the profile's KDCs, the krb5.conf behind it.
    package func diagnosticClient(for realm: String) -> KerberosClient { clients.makeClient(for: realm) }

    /// libkrb5 for the credential caches.
    package var cacheClient: KerberosClient { clients.local }

    /// The service that a ticket is asked for when a principal answers a plan's challenge.
    package func service(of plan: AuthorizationPlan, for session: Session) throws(KerberosError) -> Principal {
        try plan.service(for: session)
    }

    /// The same profiles over tickets in another cache: what is made or asked for there leaves the user's own caches as they are.
    package func copy(over cache: CredentialCacheName) -> KerberosExtension {
        var options = options
        options.defaultCacheName = cache.rawValue
        options.cacheSocket = nil
        options.additionalCacheDirectory = nil
        options.prompter = nil
        options.secretStore = nil
        return KerberosExtension(options)
    }
}
