internal import CKerberos
internal import Synchronization

/// A libkrb5 client for one realm: sign-in, service tickets, renewal, credential caches.
///
/// Calls run one after another on two serial queues, never on Swift's shared task threads: one for calls that may contact a KDC, one
/// for local calls, so that local calls never wait for a KDC. A call that waits for a KDC has a deadline. When it expires, the caller gets
/// ``KerberosError/Code/kdcUnreachable`` and the client continues with a new context; the abandoned call finishes on its own and its result
/// is dropped.
///
/// If only ``RealmConfiguration/preferredKDCs`` name KDCs of the realm, and none of them answers, DNS is asked for others; see
/// ``kdcOrder()``.
public final class KerberosClient: Sendable {
    /// The realm's configuration.
    public let configuration: RealmConfiguration
    private let trace: (@Sendable (String) -> Void)?
    private let clockOffset: ClockOffset
    /// Runs calls that contact no KDC. Its context uses the clock offset that the other contexts have learned, and reports none.
    private let localWorker: RealmWorker
    private let state: Mutex<State>

    private struct State {
        var worker: RealmWorker
        /// Until when KDCs from DNS are tried first, because the preferred ones did not answer; scopes without an entry use the
        /// configuration.
        var discoveredUntil: [KDCScope: ContinuousClock.Instant] = [:]
        var order: KDCOrder?
        /// The number of configured KDCs of each realm that was looked up.
        var kdcCounts: [String: Int] = [:]
        /// The other realms for which DNS is used after the preferred KDCs.
        var trustedRealms: Set<String>?

        func route(_ scope: KDCScope) -> KDCRoute { discoveredUntil[scope] == nil ? .configured : .discovered }
        var forCertificates: KerberosClient?
        /// The number of abandoned calls that have not finished.
        var abandonedCalls = 0
        /// Calls that may still be queued.
        var waiting: [ObjectIdentifier: any AnyRealmJob] = [:]
    }

    /// The maximum number of unfinished abandoned calls: an unreachable KDC holds each for half a minute, and a thread with it.
    private static let abandonedCallLimit = 4

    /// Creates a client for a realm. Nothing is read or sent before the first call.
    ///
    /// - Parameters:
    ///   - configuration: The realm and the files behind it.
    ///   - trace: Receives libkrb5's trace messages on the realm's thread. They contain no secrets.
    public convenience init(_ configuration: RealmConfiguration, trace: (@Sendable (String) -> Void)? = nil) {
        self.init(configuration, clockOffset: ClockOffset(configuration.clockOffset), trace: trace)
    }

    private init(_ configuration: RealmConfiguration, clockOffset: ClockOffset, trace: (@Sendable (String) -> Void)?) {
        self.configuration = configuration
        self.trace = trace
        self.clockOffset = clockOffset
        localWorker = RealmWorker(configuration, clockOffset: clockOffset, isLocal: true, trace: trace)
        state = Mutex(State(worker: RealmWorker(configuration, clockOffset: clockOffset, trace: trace)))
    }

    /// A client for the same realm that can sign in only with a certificate: a context has one set of plugins.
    var forCertificates: KerberosClient {
        state.withLock { state in
            if let client = state.forCertificates { return client }
            var configuration = configuration
            configuration.signsInByCertificateAlone = true
            let client = KerberosClient(configuration, clockOffset: clockOffset, trace: trace)
            state.forCertificates = client
            return client
        }
    }

    /// How many seconds the KDC's clock is ahead, as far as this client has learned.
    package var learnedClockOffset: Double { clockOffset.learned }

    /// Creates a worker whose context uses the current KDC routes.
    private func makeWorker(_ state: State) -> RealmWorker {
        let own: Set<String> = state.route(.own) == .discovered ? [configuration.realm] : []
        let realms = own.union(state.route(.trusted) == .discovered ? state.trustedRealms ?? [] : [])
        return RealmWorker(realms.isEmpty ? configuration : configuration.findingInDNS(realms), clockOffset: clockOffset, trace: trace)
    }

    /// Runs a local call.
    func perform<Value: Sendable>(
        _ body: @escaping @Sendable (Context) throws(KerberosError) -> Value
    ) async throws(KerberosError) -> Value {
        try await localWorker.run(body).get()
    }

    /// The KDC route to try first.
    func firstRoute(_ scope: KDCScope) -> KDCRoute {
        state.withLock { state in
            if let limit = state.discoveredUntil[scope], limit < .now {
                state.discoveredUntil[scope] = nil
                state.worker = makeWorker(state)
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
            if isNew { state.worker = makeWorker(state) }
            return scope == .own ? [configuration.realm] : state.trustedRealms ?? []
        }
        guard route == .discovered else { return }
        let names = realms.sorted().joined(separator: ", ")
        trace?("KDCs of \(names): no preferred KDC answers; querying DNS for others.\n")
    }

    /// The other realms for which DNS is used after the preferred KDCs; makes no network request.
    func trustedRealmsInDNS() async throws(KerberosError) -> Set<String> {
        if let realms = state.withLock({ $0.trustedRealms }) { return realms }
        let preferred = configuration.otherKDCs.filter { !$0.value.isEmpty && $0.key != configuration.realm }
        guard !preferred.isEmpty else { return [] }
        // The local worker always uses the configured routes.
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
        guard state.withLock({ $0.abandonedCalls < Self.abandonedCallLimit }) else {
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
            return try body(context, deadline)
        }
        deadline.resume()
        submit(job)
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

    /// Queues a call on the current worker.
    private func submit(_ job: any AnyRealmJob) {
        let worker = state.withLock { state in
            state.waiting[ObjectIdentifier(job)] = job
            return state.worker
        }
        Task { await self.run(job, on: worker) }
    }

    private func run(_ job: any AnyRealmJob, on worker: RealmWorker) async {
        let isAwaited = await job.run(on: worker)
        state.withLock { state in
            state.waiting[ObjectIdentifier(job)] = nil
            if !isAwaited { state.abandonedCalls -= 1 }
        }
    }

    /// Stops waiting for a call that has not finished. If the call has begun, a new worker replaces the blocked one and takes over the
    /// queued calls.
    private func abandon<Value: Sendable>(_ job: RealmJob<Value>, with error: KerberosError) {
        // This wakes the caller, so it must not run under the lock. If the call finishes before it is counted here, the count is briefly
        // below 0.
        guard job.abandon(with: error) == .whileItRuns else { return }
        let (worker, jobs) = state.withLock { state -> (RealmWorker, [any AnyRealmJob]) in
            state.abandonedCalls += 1
            state.worker = makeWorker(state)
            return (state.worker, state.waiting.values.filter { !$0.hasBegun })
        }
        for job in jobs { Task { await self.run(job, on: worker) } }
    }

    /// Where the realm's KDCs are looked for according to the profile and krb5.conf; makes no network request.
    public func kdcOrder() async throws(KerberosError) -> KDCOrder {
        if let order = state.withLock({ $0.order }) { return order }
        // The local worker always uses the configured routes.
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
