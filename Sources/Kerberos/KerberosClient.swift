internal import CKerberos
internal import Synchronization

/// libkrb5 for one realm: sign-in, service tickets, renewal, credential caches.
///
/// Calls run one after the other on a thread of their own, never on the threads that Swift's tasks share. A call that waits for a KDC
/// has a deadline: past it the caller gets ``KerberosError/Code/kdcUnreachable`` and the client goes on with a new context, while the
/// abandoned call ends by itself and its result is dropped.
public final class KerberosClient: Sendable {
    /// The realm's configuration.
    public let configuration: RealmConfiguration
    private let trace: (@Sendable (String) -> Void)?
    private let state: Mutex<State>

    private struct State {
        var worker: RealmWorker
        var abandonedCalls = 0
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
        state = Mutex(State(worker: RealmWorker(configuration, trace: trace)))
    }

    /// Runs a call that stays on this machine.
    func perform<Value: Sendable>(
        _ body: @escaping @Sendable (Context) throws(KerberosError) -> Value
    ) async throws(KerberosError) -> Value {
        try await state.withLock { $0.worker }.run(body).get()
    }

    /// Runs a call that may ask a KDC, within the deadline.
    func performOnNetwork<Value: Sendable>(
        subject: String,
        deadline limit: Duration?,
        _ body: @escaping @Sendable (Context, CallDeadline) throws(KerberosError) -> Value
    ) async throws(KerberosError) -> Value {
        let limit = if let limit { limit } else { try await defaultDeadline() }
        let (worker, isOverloaded) = state.withLock { ($0.worker, $0.abandonedCalls >= Self.abandonedCallLimit) }
        if isOverloaded { throw deadlineError(subject: subject, detail: "earlier requests still wait for an answer") }

        let deadline = CallDeadline(limit)
        let race = Race<Result<Value, KerberosError>>()
        let call = Task {
            let result = await worker.run { context throws(KerberosError) in
                deadline.resume()
                return try body(context, deadline)
            }
            if !race.finish(with: result) { self.state.withLock { $0.abandonedCalls -= 1 } }
        }
        let timer = Task {
            deadline.resume()
            try await deadline.expiry()
            self.abandon(worker, race, with: self.deadlineError(subject: subject, detail: "no answer within \(limit)"))
        }
        let result = await withTaskCancellationHandler {
            await race.value()
        } onCancel: {
            self.abandon(worker, race, with: KerberosError(.canceled, subject: subject, message: "canceled."))
        }
        timer.cancel()
        _ = call
        return try result.get()
    }

    /// Ends the wait, if it has not ended, and puts a new worker in the place of the one that is stuck.
    private func abandon<Value: Sendable>(_ worker: RealmWorker, _ race: Race<Result<Value, KerberosError>>, with error: KerberosError) {
        state.withLock { state in
            guard race.finish(with: .failure(error)) else { return }
            state.abandonedCalls += 1
            if state.worker === worker { state.worker = RealmWorker(configuration, trace: trace) }
        }
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
        let count = try await perform { [realm = configuration.realm] context throws(KerberosError) in
            try context.values(["realms", realm, "kdc"]).count
        }
        return count == 1 ? .seconds(10) : .seconds(25)
    }
}
