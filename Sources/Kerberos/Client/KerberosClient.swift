internal import CKerberos
internal import Synchronization

/// libkrb5 for one realm: sign-in, service tickets, renewal, credential caches.
///
/// Calls run one after the other on threads of their own, never on the threads that Swift's tasks share: one for those that may ask a KDC,
/// one for those that stay on this machine, so that none of the latter waits for a KDC. A call that waits for a KDC
/// has a deadline: past it the caller gets ``KerberosError/Code/kdcUnreachable`` and the client goes on with a new context, while the
/// abandoned call ends by itself and its result is dropped.
///
/// Where ``RealmConfiguration/preferredKDCs`` is all that names KDCs of the realm, and none of these answers, DNS is asked for others; see
/// ``kdcOrder()``.
public final class KerberosClient: Sendable {
    /// The realm's configuration.
    public let configuration: RealmConfiguration
    private let trace: (@Sendable (String) -> Void)?
    private let clockOffset: ClockOffset
    /// For what asks no KDC. Its context goes by the clock that the others have learned, and teaches them none.
    private let localWorker: RealmWorker
    private let state: Mutex<State>

    private struct State {
        var worker: RealmWorker
        /// Until when the KDCs that DNS names come first, since the preferred ones did not answer; those that are not here are as
        /// configured.
        var discoveredUntil: [KDCScope: ContinuousClock.Instant] = [:]
        var order: KDCOrder?
        /// How many KDCs are named for the realms that were looked up.
        var kdcCounts: [String: Int] = [:]
        /// The other realms where DNS comes after the preferred KDCs.
        var trustedRealms: Set<String>?

        func route(_ scope: KDCScope) -> KDCRoute { discoveredUntil[scope] == nil ? .configured : .discovered }
        var forCertificates: KerberosClient?
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

    /// The same realm with no other way to sign in than a certificate: a context has one set of plugins.
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

    /// By how many seconds the KDC's clock is ahead, as far as this client has learned it.
    package var learnedClockOffset: Double { clockOffset.learned }

    /// A worker whose context finds the KDCs in the ways that are in office.
    private func makeWorker(_ state: State) -> RealmWorker {
        let own: Set<String> = state.route(.own) == .discovered ? [configuration.realm] : []
        let realms = own.union(state.route(.trusted) == .discovered ? state.trustedRealms ?? [] : [])
        return RealmWorker(realms.isEmpty ? configuration : configuration.findingInDNS(realms), clockOffset: clockOffset, trace: trace)
    }

    /// Runs a call that stays on this machine.
    func perform<Value: Sendable>(
        _ body: @escaping @Sendable (Context) throws(KerberosError) -> Value
    ) async throws(KerberosError) -> Value {
        try await localWorker.run(body).get()
    }

    /// The way to the KDCs that is to be tried first now.
    func firstRoute(_ scope: KDCScope) -> KDCRoute {
        state.withLock { state in
            if let limit = state.discoveredUntil[scope], limit < .now {
                state.discoveredUntil[scope] = nil
                state.worker = makeWorker(state)
            }
            return state.route(scope)
        }
    }

    /// Whether DNS comes first now.
    func isFoundInDNS(_ scope: KDCScope) -> Bool { state.withLock { $0.route(scope) } == .discovered }

    /// Puts a worker in office that finds the KDCs in another way; what is under way goes on with the old one.
    func take(_ route: KDCRoute, _ scope: KDCScope) {
        let realms = state.withLock { state in
            let isNew = state.route(scope) != route
            state.discoveredUntil[scope] = route == .discovered ? .now + Self.discoveredTime : nil
            if isNew { state.worker = makeWorker(state) }
            return scope == .own ? [configuration.realm] : state.trustedRealms ?? []
        }
        guard route == .discovered else { return }
        let names = realms.sorted().joined(separator: ", ")
        trace?("KDCs of \(names): none of those preferred answers, DNS is asked for others.\n")
    }

    /// The other realms where DNS comes after the preferred KDCs; no network.
    func trustedRealmsInDNS() async throws(KerberosError) -> Set<String> {
        if let realms = state.withLock({ $0.trustedRealms }) { return realms }
        let preferred = configuration.otherKDCs.filter { !$0.value.isEmpty && $0.key != configuration.realm }
        guard !preferred.isEmpty else { return [] }
        // Before anything has put another way in office.
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

    /// For so long the preferred KDCs are not waited for again.
    private static let discoveredTime = Duration.seconds(60)

    /// Runs a call that may ask a KDC, within the deadline, by the way to the KDCs that is in office.
    func performByOneRoute<Value: Sendable>(
        subject: String,
        realms: AskedRealms = .own,
        deadline limit: Duration?,
        replies: ReplyNote? = nil,
        _ body: @escaping @Sendable (Context, CallDeadline) throws(KerberosError) -> Value
    ) async throws(KerberosError) -> Value {
        let initial = if let limit { limit } else { try await defaultDeadline(realms) }
        guard state.withLock({ $0.abandonedCalls < Self.abandonedCallLimit }) else {
            throw deadlineError(realms, subject: subject, detail: "earlier requests still wait for an answer")
        }
        let canceled = KerberosError(.canceled, subject: subject, message: "canceled.")
        if Task.isCancelled { throw canceled }
        let deadline = CallDeadline(initial)
        let late = { @Sendable in self.deadlineError(realms, subject: subject, detail: "no answer within \(deadline.limit)") }
        let note = (limit == nil ? lengthening(deadline, realms, within: replies) : replies) ?? ReplyNote()
        let job = RealmJob { context throws(KerberosError) in
            // A call that waited behind a dead one is not sent when its own time is up.
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
        // Not under the lock, since it wakes the caller. When the call ends before it is counted here, the count is below 0 for a moment.
        guard job.abandon(with: error) == .whileItRuns else { return }
        let (worker, jobs) = state.withLock { state -> (RealmWorker, [any AnyRealmJob]) in
            state.abandonedCalls += 1
            state.worker = makeWorker(state)
            return (state.worker, state.waiting.values.filter { !$0.hasBegun })
        }
        for job in jobs { Task { await self.run(job, on: worker) } }
    }

    /// Where the realm's KDCs are looked for, as the profile and krb5.conf say; no network.
    public func kdcOrder() async throws(KerberosError) -> KDCOrder {
        if let order = state.withLock({ $0.order }) { return order }
        // Before anything has put another way in office.
        let order = try await perform { [configuration] context throws(KerberosError) in
            let named = try context.values(["realms", configuration.realm, "kdc"])
            let isAllowed = try context.asksDNSForKDCs()
            return KDCOrder(named: named, asksDNS: isAllowed && named.allSatisfy(configuration.preferredKDCs.contains))
        }
        state.withLock { $0.order = order }
        return order
    }

    /// How many KDCs are named for another realm; no network.
    func kdcCount(of realm: String) async throws(KerberosError) -> Int {
        if let count = state.withLock({ $0.kdcCounts[realm] }) { return count }
        let count = try await perform { context throws(KerberosError) in try context.values(["realms", realm, "kdc"]).count }
        state.withLock { $0.kdcCounts[realm] = count }
        return count
    }
}
