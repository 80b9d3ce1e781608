internal import CKerberos
internal import Synchronization

/// A libkrb5 client for one realm: sign-in, service tickets, renewal, credential caches.
///
/// Calls run one after another on three serial queues, never on Swift's shared task threads: one for calls that may contact a KDC, one
/// for caches that another process may serve, and one for other local calls, which wait for no other process.
///
/// A request to a KDC uses a copy of the tickets in memory. Caches are read before the request, and written after it.
///
/// A call that waits for a KDC has a deadline. When it expires, the caller gets ``KerberosError/Code/kdcUnreachable`` and the client
/// continues with a new context; the abandoned call finishes on its own and its result is dropped. A call that waits for the server of a
/// credential cache has a deadline too (``KerberosError/Code/cacheUnusable``). Until the server answers it, all other calls on such caches
/// fail, so that a write that finishes late does not undo a later one.
///
/// If only ``RealmConfiguration/preferredKDCs`` name KDCs of the realm, and none of them answers, DNS is asked for others; see
/// ``kdcOrder()``.
public final class KerberosClient: Sendable {
    /// The realm's configuration.
    public let configuration: RealmConfiguration
    private let trace: (@Sendable (String) -> Void)?
    /// The controllers of the realm's domain, which are tried before the KDCs that DNS lists for the whole realm; nil looks for none.
    private let controllers: DomainControllers?
    let clockOffset: ClockOffset
    /// The copies of tickets that requests use.
    let drafts = DraftCaches()
    private let queues: Queues
    /// Lock order: this mutex, then that of a queue.
    private let state: Mutex<State>

    private struct Queues: Sendable {
        /// Runs the calls that may contact a KDC, which may be unreachable: each abandoned call holds a thread for half a minute.
        let network: RealmQueue
        /// Runs calls that use a cache which another process may serve. Like the local worker's, its contexts report no clock offset.
        let servedCaches: RealmQueue
        /// Runs calls that wait for no other process. Its context uses the clock offset that the other contexts have learned.
        let local: RealmWorker
    }

    private struct State {
        /// The controllers that were located, in krb5.conf's syntax.
        var located: [String] = []
        /// Those of them that change passwords; empty if krb5.conf names others.
        var passwordServers: [String] = []
        /// Until when KDCs from DNS are tried first, because the preferred ones did not answer; scopes without an entry use the
        /// configuration.
        var discoveredUntil: [KDCScope: ContinuousClock.Instant] = [:]
        var order: KDCOrder?
        /// The number of configured KDCs of each realm that was looked up.
        var kdcCounts: [String: Int] = [:]
        /// The other realms for which DNS is used after the preferred KDCs.
        var trustedRealms: Set<String>?
        /// The client of the last sign-in with a certificate, and that certificate.
        var forCertificate: (client: KerberosClient, identity: String?)?

        func route(_ scope: KDCScope) -> KDCRoute { discoveredUntil[scope] == nil ? .configured : .discovered }
    }

    /// Creates a client for a realm. Nothing is read or sent before the first call.
    ///
    /// - Parameters:
    ///   - configuration: The realm and the files behind it.
    ///   - trace: Receives libkrb5's trace messages on the realm's thread. They contain no secrets.
    public convenience init(_ configuration: RealmConfiguration, trace: (@Sendable (String) -> Void)? = nil) {
        self.init(configuration, controllers: nil, trace: trace)
    }

    /// Creates a client that, where it would ask DNS for the realm's KDCs, first tries the nearest controllers of the domain.
    package convenience init(
        _ configuration: RealmConfiguration,
        controllers: DomainControllers?,
        trace: (@Sendable (String) -> Void)? = nil
    ) {
        self.init(configuration, controllers: controllers, clockOffset: ClockOffset(configuration.clockOffset), trace: trace)
    }

    private init(
        _ configuration: RealmConfiguration,
        controllers: DomainControllers?,
        clockOffset: ClockOffset,
        trace: (@Sendable (String) -> Void)?
    ) {
        self.configuration = configuration
        self.controllers = controllers
        self.trace = trace
        self.clockOffset = clockOffset
        func localWorker() -> RealmWorker { RealmWorker(configuration, clockOffset: clockOffset, isLocal: true, trace: trace) }
        queues = Queues(
            network: RealmQueue(RealmWorker(configuration, clockOffset: clockOffset, trace: trace), abandonedCallLimit: 4),
            servedCaches: RealmQueue(localWorker(), abandonedCallLimit: 1),
            local: localWorker()
        )
        state = Mutex(State())
    }

    /// A client for the same realm that can sign in only one principal, and only with this certificate: a context has one set of plugins,
    /// one of rules that select the certificate, and one certificate.
    func forCertificate(_ identity: String?, of owner: Principal) -> KerberosClient {
        state.withLock { state in
            if let (client, known) = state.forCertificate, known == identity, client.configuration.certificateOwner == owner {
                return client
            }
            var configuration = configuration
            configuration.certificateOwner = owner
            let client = KerberosClient(configuration, controllers: controllers, clockOffset: clockOffset, trace: trace)
            state.forCertificate = (client, identity)
            return client
        }
    }

    /// How many seconds the KDC's clock is ahead, as far as this client has learned.
    package var learnedClockOffset: Double { clockOffset.learned }

    /// Creates a worker whose context uses the current KDC routes.
    private func makeWorker(_ state: State) -> RealmWorker {
        let own: Set<String> = state.route(.own) == .discovered ? [configuration.realm] : []
        let realms = own.union(state.route(.trusted) == .discovered ? state.trustedRealms ?? [] : [])
        var configuration = realms.isEmpty ? configuration : configuration.findingInDNS(realms)
        // They precede what DNS lists: with no other KDC named at once, else after the preferred ones.
        if state.route(.own) == (self.configuration.preferredKDCs.isEmpty ? .configured : .discovered) {
            configuration.preferredKDCs += state.located
            // A password is then changed where the next sign-in is sent, before the change has reached the other controllers.
            configuration.standardPasswordServers = state.passwordServers
        }
        return RealmWorker(configuration, clockOffset: clockOffset, trace: trace)
    }

    /// Runs a local call that waits for no other process.
    func perform<Value: Sendable>(
        _ body: @escaping @Sendable (Context) throws(KerberosError) -> Value
    ) async throws(KerberosError) -> Value {
        try await queues.local.run(body).get()
    }

    /// How long the server of a credential cache may take to answer. libkrb5 would wait for it without a limit.
    private static let cacheServerLimit = Duration.seconds(10)

    /// Runs a call that uses a cache and contacts no KDC, within a deadline if another process may serve it.
    ///
    /// Canceling the task has no effect. A call that was abandoned may still take effect when the server answers.
    func perform<Value: Sendable>(
        on cache: CredentialCacheName,
        _ body: @escaping @Sendable (Context) throws(KerberosError) -> Value
    ) async throws(KerberosError) -> Value {
        guard cache.mayHaveServer else { return try await perform(body) }
        let silence = KerberosError(
            .cacheUnusable,
            subject: cache.rawValue,
            message: "the server of the credential caches did not answer within \(Self.cacheServerLimit.components.seconds) seconds. "
                + "Restart it (the agent of ksso, ksso-kcm or sssd-kcm), or set KRB5CCNAME to another cache."
        )
        guard !queues.servedCaches.isBlocked else { throw silence }
        let job = RealmJob(body)
        queues.servedCaches.submit(job)
        let timer = Task {
            try await Task.sleep(for: Self.cacheServerLimit)
            if job.abandon(with: silence) == .whileItRuns { self.queues.servedCaches.countAbandonedCall() }
        }
        defer { timer.cancel() }
        return try await job.result().get()
    }

    /// The KDC route to try first.
    func firstRoute(_ scope: KDCScope) -> KDCRoute {
        state.withLock { state in
            if let limit = state.discoveredUntil[scope], limit < .now {
                state.discoveredUntil[scope] = nil
                queues.network.setWorker(makeWorker(state))
            }
            return state.route(scope)
        }
    }

    /// Whether KDCs from DNS are tried first.
    func isFoundInDNS(_ scope: KDCScope) -> Bool { state.withLock { $0.route(scope) } == .discovered }

    /// Switches to another KDC route with a new worker; running calls continue on the old one.
    func take(_ route: KDCRoute, _ scope: KDCScope) {
        let realms = state.withLock { state in
            let isNew = state.route(scope) != route
            state.discoveredUntil[scope] = route == .discovered ? .now + Self.discoveredTime : nil
            if isNew { queues.network.setWorker(makeWorker(state)) }
            return scope == .own ? [configuration.realm] : state.trustedRealms ?? []
        }
        guard route == .discovered else { return }
        let names = realms.sorted().joined(separator: ", ")
        trace?("KDCs of \(names): no preferred KDC answers; querying DNS for others.\n")
    }

    /// Whether the realm may be a domain, whose controllers are looked for.
    var looksForControllers: Bool { controllers != nil }

    /// Locates the controllers of the domain, so that the route that would ask DNS tries them first, if one of them answers.
    ///
    /// - Returns: Whether one does.
    func locateControllers() async -> Bool {
        guard let controllers else { return false }
        let location = await controllers.locationInTime()
        let isAnswered = location?.controllers.contains { $0.latency != nil } ?? false
        let entries = isAnswered ? location?.controllers.map(\.address.description) ?? [] : []
        let namesServer = await namesPasswordServer()
        let servers = isAnswered && !namesServer ? location?.passwordServers ?? [] : []
        state.withLock { state in
            guard state.located != entries || state.passwordServers != servers else { return }
            (state.located, state.passwordServers) = (entries, servers)
            queues.network.setWorker(makeWorker(state))
        }
        if !entries.isEmpty { trace?("Controllers of \(configuration.realm), the nearest first: \(entries.joined(separator: ", "))\n") }
        return !entries.isEmpty
    }

    /// Whether the realm is a domain, of which a controller answered.
    var hasLocatedControllers: Bool { state.withLock { !$0.located.isEmpty } }

    /// Whether krb5.conf names a server that changes passwords.
    private func namesPasswordServer() async -> Bool {
        let named = try? await perform { [realm = configuration.realm] context throws(KerberosError) in
            try context.values(["realms", realm, "kpasswd_server"]) + context.values(["realms", realm, "admin_server"])
        }
        return named?.isEmpty == false
    }

    /// Whether a controller of the domain was located that changes passwords.
    func knowsPasswordController() async -> Bool { await controllers?.locationInTime()?.passwordServers.isEmpty == false }

    /// Looks for the controllers again the next time, because none of them answered.
    func forgetControllers() { controllers?.forget() }

    /// The other realms for which DNS is used after the preferred KDCs; makes no network request.
    func trustedRealmsInDNS() async throws(KerberosError) -> Set<String> {
        if let realms = state.withLock({ $0.trustedRealms }) { return realms }
        let preferred = configuration.otherKDCs.filter { !$0.value.isEmpty && $0.key != configuration.realm }
        guard !preferred.isEmpty else { return [] }
        // Local calls always use the configured routes.
        let realms = try await perform { context throws(KerberosError) in
            var realms: Set<String> = []
            guard try context.asksDNSForKDCs() else { return realms }
            for (realm, kdcs) in preferred {
                let named = try context.values(["realms", realm, "kdc"])
                if named.allSatisfy(kdcs.contains) { realms.insert(realm) }
            }
            return realms
        }
        state.withLock { $0.trustedRealms = realms }
        return realms
    }

    /// How long the preferred KDCs are skipped after they did not answer.
    private static let discoveredTime = Duration.seconds(60)

    /// Runs a call that may contact a KDC, within the deadline, on the current route.
    func performByOneRoute<Value: Sendable>(
        subject: String,
        realms: AskedRealms = .own,
        deadline limit: Duration?,
        replies: ReplyNote? = nil,
        _ body: @escaping @Sendable (Context, CallDeadline) throws(KerberosError) -> Value
    ) async throws(KerberosError) -> Value {
        let initial = if let limit { limit } else { try await defaultDeadline(realms) }
        guard !queues.network.isBlocked else {
            throw deadlineError(realms, subject: subject, detail: "earlier requests are still waiting for an answer")
        }
        let canceled = KerberosError(.canceled, subject: subject, message: "canceled.")
        if Task.isCancelled { throw canceled }
        let deadline = CallDeadline(initial)
        let late = { @Sendable in self.deadlineError(realms, subject: subject, detail: "no answer within \(deadline.limit)") }
        let note = (limit == nil ? lengthening(deadline, realms, within: replies) : replies) ?? ReplyNote()
        let job = RealmJob { context throws(KerberosError) in
            // A call that was queued behind a blocked one is not sent after its own deadline.
            if deadline.isOver { throw late() }
            context.noteReplies(in: note)
            defer { context.noteReplies(in: nil) }
            return try context.namingProxyRefusals { () throws(KerberosError) in try body(context, deadline) }
        }
        deadline.resume()
        queues.network.submit(job)
        let timer = Task {
            try await deadline.expiry()
            self.stopWaiting(for: job, deadline, with: late())
        }
        defer { timer.cancel() }
        let result = await withTaskCancellationHandler {
            await job.result()
        } onCancel: {
            self.stopWaiting(for: job, deadline, with: canceled)
        }
        return try result.get()
    }

    /// Stops waiting for a call. If a prompt is open, waits another second so that the prompter can restore the terminal.
    private func stopWaiting<Value: Sendable>(for job: RealmJob<Value>, _ deadline: CallDeadline, with error: KerberosError) {
        guard deadline.abandon() else { return abandon(job, with: error) }
        Task {
            try? await Task.sleep(for: .seconds(1))
            self.abandon(job, with: error)
        }
    }

    /// Stops waiting for a call that has not finished. If the call has begun, a new worker replaces the blocked one and takes over the
    /// queued calls.
    private func abandon<Value: Sendable>(_ job: RealmJob<Value>, with error: KerberosError) {
        // This wakes the caller, so it must not run under the lock.
        guard job.abandon(with: error) == .whileItRuns else { return }
        state.withLock { queues.network.replaceBlockedWorker(with: makeWorker($0)) }
    }

    /// Where the realm's KDCs are looked for according to the profile and krb5.conf; makes no network request.
    public func kdcOrder() async throws(KerberosError) -> KDCOrder {
        if let order = state.withLock({ $0.order }) { return order }
        // Local calls always use the configured routes.
        let order = try await perform { [configuration] context throws(KerberosError) in
            let named = try context.values(["realms", configuration.realm, "kdc"])
            let isAllowed = try context.asksDNSForKDCs()
            return KDCOrder(named: named, asksDNS: isAllowed && named.allSatisfy(configuration.preferredKDCs.contains))
        }
        state.withLock { $0.order = order }
        return order
    }

    /// The number of configured KDCs of another realm; makes no network request.
    func kdcCount(of realm: String) async throws(KerberosError) -> Int {
        if let count = state.withLock({ $0.kdcCounts[realm] }) { return count }
        let count = try await perform { context throws(KerberosError) in try context.values(["realms", realm, "kdc"]).count }
        state.withLock { $0.kdcCounts[realm] = count }
        return count
    }
}
