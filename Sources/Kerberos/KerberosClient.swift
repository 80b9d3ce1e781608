internal import CKerberos
internal import Synchronization

/// libkrb5 for one realm: sign-in, service tickets, renewal, credential caches.
///
/// Calls run one after the other on a thread of their own, never on the threads that Swift's tasks share. A call that waits for a KDC
/// has a deadline: past it the caller gets ``KerberosError/Code/kdcUnreachable`` and the client goes on with a new context, while the
/// abandoned call ends by itself and its result is dropped.
///
/// Where ``RealmConfiguration/preferredKDCs`` is all that names KDCs of the realm, and none of these answers, DNS is asked for others; see
/// ``kdcOrder()``.
public final class KerberosClient: Sendable {
    /// The realm's configuration.
    public let configuration: RealmConfiguration
    private let trace: (@Sendable (String) -> Void)?
    private let clockOffset = ClockOffset()
    private let state: Mutex<State>

    private struct State {
        var worker: RealmWorker
        var route = KDCRoute.configured
        /// Until when the KDCs that DNS names come first, since the preferred ones did not answer.
        var discoveredUntil: ContinuousClock.Instant?
        var order: KDCOrder?
        /// Calls that nobody waits for any more and that have not ended.
        var abandonedCalls = 0
        /// Calls that may still wait for their turn.
        var waiting: [ObjectIdentifier: any AnyRealmJob] = [:]
    }

    /// A dead KDC holds each abandoned call for half a minute; more of them than this at once would only pile up threads.
    private static let abandonedCallLimit = 4

    /// A client for a realm. Nothing is read or sent before the first call.
    ///
    /// - Parameters:
    ///   - configuration: the realm, and what stands behind it.
    ///   - trace: gets libkrb5's trace, line by line, on the realm's own thread. It holds no secrets.
    public init(_ configuration: RealmConfiguration, trace: (@Sendable (String) -> Void)? = nil) {
        self.configuration = configuration
        self.trace = trace
        state = Mutex(State(worker: RealmWorker(configuration, clockOffset: clockOffset, trace: trace)))
    }

    /// By how many seconds the KDC's clock is ahead, as far as this client has learned it.
    package var learnedClockOffset: Double { clockOffset.learned }

    /// A worker whose context finds the realm's KDCs in this way.
    private func makeWorker(_ route: KDCRoute) -> RealmWorker {
        RealmWorker(route == .configured ? configuration : configuration.withoutPreferredKDCs, clockOffset: clockOffset, trace: trace)
    }

    /// Runs a call that stays on this machine.
    func perform<Value: Sendable>(
        _ body: @escaping @Sendable (Context) throws(KerberosError) -> Value
    ) async throws(KerberosError) -> Value {
        let job = RealmJob(body)
        submit(job)
        return try await job.result().get()
    }

    /// The way to the KDCs that is to be tried first now.
    func firstRoute() -> KDCRoute {
        state.withLock { state in
            if state.route == .discovered, state.discoveredUntil.map({ $0 < .now }) ?? true {
                (state.route, state.discoveredUntil, state.worker) = (.configured, nil, makeWorker(.configured))
            }
            return state.route
        }
    }

    /// Puts a worker in office that finds the KDCs in another way; what is under way goes on with the old one.
    func take(_ route: KDCRoute) {
        state.withLock { state in
            if route == .discovered { state.discoveredUntil = .now + Self.discoveredTime }
            guard state.route != route else { return }
            (state.route, state.worker) = (route, makeWorker(route))
        }
        guard route == .discovered else { return }
        trace?("KDCs of \(configuration.realm): none of those preferred answers, DNS is asked for others.\n")
    }

    /// For so long the preferred KDCs are not waited for again.
    private static let discoveredTime = Duration.seconds(60)

    /// Runs a call that may ask a KDC, within the deadline, by the way to the KDCs that is in office.
    func performByOneRoute<Value: Sendable>(
        subject: String,
        deadline limit: Duration?,
        _ body: @escaping @Sendable (Context, CallDeadline) throws(KerberosError) -> Value
    ) async throws(KerberosError) -> Value {
        let limit = if let limit { limit } else { try await defaultDeadline() }
        guard state.withLock({ $0.abandonedCalls < Self.abandonedCallLimit }) else {
            throw deadlineError(subject: subject, detail: "earlier requests still wait for an answer")
        }
        let canceled = KerberosError(.canceled, subject: subject, message: "canceled.")
        if Task.isCancelled { throw canceled }
        let deadline = CallDeadline(limit)
        let late = deadlineError(subject: subject, detail: "no answer within \(limit)")
        let job = RealmJob { context throws(KerberosError) in
            // A call that waited behind a dead one is not sent when its own time is up.
            if deadline.isOver { throw late }
            return try body(context, deadline)
        }
        deadline.resume()
        submit(job)
        let timer = Task {
            try await deadline.expiry()
            self.stopWaiting(for: job, deadline, with: late)
        }
        defer { timer.cancel() }
        let result = await withTaskCancellationHandler {
            await job.result()
        } onCancel: {
            self.stopWaiting(for: job, deadline, with: canceled)
        }
        return try result.get()
    }

    /// Ends the wait for a call; where a person is being asked, a moment later, so that the prompter can leave the terminal as it was.
    private func stopWaiting<Value: Sendable>(for job: RealmJob<Value>, _ deadline: CallDeadline, with error: KerberosError) {
        guard deadline.abandon() else { return abandon(job, with: error) }
        Task {
            try? await Task.sleep(for: .seconds(1))
            self.abandon(job, with: error)
        }
    }

    /// Puts a call in the queue of the worker that is in office.
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

    /// Ends the wait for a call, if it has not ended. Where the call has begun, a new worker takes the place of the one that is stuck,
    /// and with it the calls that wait behind.
    private func abandon<Value: Sendable>(_ job: RealmJob<Value>, with error: KerberosError) {
        let (worker, jobs) = state.withLock { state -> (RealmWorker, [any AnyRealmJob]) in
            guard job.abandon(with: error) == .whileItRuns else { return (state.worker, []) }
            state.abandonedCalls += 1
            state.worker = makeWorker(state.route)
            return (state.worker, state.waiting.values.filter { !$0.hasBegun })
        }
        for job in jobs { Task { await self.run(job, on: worker) } }
    }

    private func deadlineError(subject: String, detail: String) -> KerberosError {
        KerberosError(
            .kdcUnreachable,
            subject: subject,
            message: "no KDC of \(configuration.realm) answered (\(detail)). Check the network or the VPN, then try again."
        )
    }

    /// 10 seconds with one KDC known; 25 with several, since libkrb5 turns to the second after 10.
    func defaultDeadline() async throws(KerberosError) -> Duration {
        try await kdcOrder().named.count == 1 ? .seconds(10) : .seconds(25)
    }

    /// Where the realm's KDCs are looked for, as the profile and krb5.conf say; no network.
    public func kdcOrder() async throws(KerberosError) -> KDCOrder {
        if let order = state.withLock({ $0.order }) { return order }
        // Before anything has put another way in office.
        let order = try await perform { [configuration] context throws(KerberosError) in
            let named = try context.values(["realms", configuration.realm, "kdc"])
            let words = try context.values(["libdefaults", "dns_lookup_kdc"]) + context.values(["libdefaults", "dns_fallback"])
            let isAllowed = words.first.map(Context.isTrue) ?? true
            return KDCOrder(named: named, asksDNS: isAllowed && named.allSatisfy(configuration.preferredKDCs.contains))
        }
        state.withLock { $0.order = order }
        return order
    }
}
