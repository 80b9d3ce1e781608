internal import CKerberos
internal import Dispatch
internal import Synchronization

/// Owns a realm's context: an actor on its own queue.
///
/// libkrb5 keeps the KDC clock offset per context, and realms must not share it. A realm's contexts adopt its offset before each call, and
/// the one for the calls that may contact a KDC learns the offset.
actor RealmWorker {
    private let executor: SerialQueueExecutor
    private let configuration: RealmConfiguration
    private let trace: (@Sendable (String) -> Void)?
    private let clockOffset: ClockOffset
    private let isLocal: Bool
    private var opened: Context?

    nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

    /// - Parameter isLocal: Whether all calls are local, without contact to a KDC.
    init(
        _ configuration: RealmConfiguration,
        clockOffset: ClockOffset,
        isLocal: Bool = false,
        trace: (@Sendable (String) -> Void)?
    ) {
        self.configuration = configuration
        self.clockOffset = clockOffset
        self.trace = trace
        self.isLocal = isLocal
        executor = SerialQueueExecutor(label: "kerberos.\(configuration.realm)")
    }

    /// Runs blocking C on this actor's thread.
    func run<Value: Sendable>(
        _ body: @Sendable (Context) throws(KerberosError) -> Value
    ) -> Result<Value, KerberosError> {
        Result { () throws(KerberosError) in
            let context = try context()
            clockOffset.apply(to: context)
            if isLocal { return try body(context) }
            let before = context.clockOffset
            defer { clockOffset.learn(from: context, since: before) }
            return try body(context)
        }
    }

    private func context() throws(KerberosError) -> Context {
        if let opened { return opened }
        let context = try Context(configuration, trace: trace)
        opened = context
        return context
    }
}

/// One queued call for a realm's workers. It runs once, on the worker that takes it first.
final class RealmJob<Value: Sendable>: Sendable, AnyRealmJob {
    private let body: @Sendable (Context) throws(KerberosError) -> Value
    private let isTaken = Atomic(false)
    private let race = Race<Result<Value, KerberosError>>()

    init(_ body: @escaping @Sendable (Context) throws(KerberosError) -> Value) {
        self.body = body
    }

    /// Whether a worker has started it.
    var hasBegun: Bool { isTaken.load(ordering: .acquiring) }

    /// Runs the job in its turn, unless another worker took it first. Returns false if the caller has stopped waiting for the result.
    func run(on worker: RealmWorker) async -> Bool {
        let outcome: Result<Result<Value, KerberosError>?, KerberosError> = await worker.run { context in
            self.take() ? Result { () throws(KerberosError) in try self.body(context) } : nil
        }
        switch outcome {
        case .success(nil): return true
        case .success(.some(let result)): return race.finish(with: result)
        case .failure(let error):  // without a context the job never began, and must not begin on another worker
            _ = take()
            race.finish(with: .failure(error))
            return true
        }
    }

    /// Stops waiting, unless the result came first. A job that has not begun never will.
    func abandon(with error: KerberosError) -> Abandonment {
        guard race.finish(with: .failure(error)) else { return .tooLate }
        return take() ? .beforeItBegan : .whileItRuns
    }

    private func take() -> Bool {
        isTaken.compareExchange(expected: false, desired: true, ordering: .acquiringAndReleasing).exchanged
    }

    /// Waits for the result. Call this once.
    func result() async -> Result<Value, KerberosError> {
        await race.value()
    }
}

/// What happened to a job whose caller stopped waiting.
enum Abandonment {
    case tooLate, beforeItBegan, whileItRuns
}

/// A ``RealmJob`` with any result type.
protocol AnyRealmJob: Sendable, AnyObject {
    var hasBegun: Bool { get }
    func run(on worker: RealmWorker) async -> Bool
}

/// A value that the first of several producers sets, awaited once.
final class Race<Value: Sendable>: Sendable {
    private enum State {
        case open
        case awaited(CheckedContinuation<Value, Never>)
        case finished(Value)
        case delivered
    }

    private let state = Mutex(State.open)

    /// Sets the value; false if another producer was first.
    @discardableResult
    func finish(with value: Value) -> Bool {
        // The continuation must not be resumed under the lock: the runtime then takes locks of its own, and takes them in the opposite
        // order when it cancels a task.
        let (isFirst, waiting): (Bool, CheckedContinuation<Value, Never>?) = state.withLock { state in
            switch state {
            case .open:
                state = .finished(value)
                return (true, nil)
            case .awaited(let continuation):
                state = .delivered
                return (true, continuation)
            case .finished, .delivered:
                return (false, nil)
            }
        }
        waiting?.resume(returning: value)
        return isFirst
    }

    /// Waits for the value. Call this once.
    func value() async -> Value {
        await withCheckedContinuation { continuation in
            let early: Value? = state.withLock { state in
                guard case .finished(let value) = state else {
                    state = .awaited(continuation)
                    return nil
                }
                state = .delivered
                return value
            }
            if let early { continuation.resume(returning: early) }
        }
    }
}

/// Runs an actor on its own serial queue, so that a C call that blocks for half a minute holds a Dispatch thread, not one of the few
/// threads that all Swift tasks share.
final class SerialQueueExecutor: SerialExecutor {
    private let queue: DispatchQueue

    init(label: String) {
        queue = DispatchQueue(label: label)
    }

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        queue.async { [self] in job.runSynchronously(on: asUnownedSerialExecutor()) }
    }

    func checkIsolated() {
        dispatchPrecondition(condition: .onQueue(queue))
    }
}
