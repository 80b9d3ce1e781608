internal import CKerberos
internal import Dispatch
internal import Synchronization

/// The only place where a context of a realm's lives: an actor on a queue of its own.
///
/// libkrb5 keeps the KDC's clock offset per context, and a second realm must not inherit it. A realm has one context for the calls that may
/// ask a KDC, which learns the offset, and one for those that do not, which takes it over before each call.
actor RealmWorker {
    private let executor: SerialQueueExecutor
    private let configuration: RealmConfiguration
    private let trace: (@Sendable (String) -> Void)?
    private let clockOffset: ClockOffset
    private let isLocal: Bool
    private var opened: Context?

    nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

    /// - Parameter isLocal: Whether no call asks a KDC.
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
            if isLocal {
                clockOffset.apply(to: context)
                return try body(context)
            }
            let before = context.clockOffset
            defer { clockOffset.learn(from: context, since: before) }
            return try body(context)
        }
    }

    private func context() throws(KerberosError) -> Context {
        if let opened { return opened }
        let context = try Context(configuration, trace: trace)
        clockOffset.apply(to: context)
        opened = context
        return context
    }
}

/// One call that waits for its turn on a realm's worker. It runs once, on whichever worker takes it first.
final class RealmJob<Value: Sendable>: Sendable, AnyRealmJob {
    private let body: @Sendable (Context) throws(KerberosError) -> Value
    private let isTaken = Atomic(false)
    private let race = Race<Result<Value, KerberosError>>()

    init(_ body: @escaping @Sendable (Context) throws(KerberosError) -> Value) {
        self.body = body
    }

    /// Whether a worker has begun it.
    var hasBegun: Bool { isTaken.load(ordering: .acquiring) }

    /// Runs it when the worker's queue comes to it, unless another worker took it first; false when nobody waits for the result any more.
    func run(on worker: RealmWorker) async -> Bool {
        let outcome: Result<Result<Value, KerberosError>?, KerberosError> = await worker.run { context in
            self.take() ? Result { () throws(KerberosError) in try self.body(context) } : nil
        }
        switch outcome {
        case .success(nil): return true
        case .success(.some(let result)): return race.finish(with: result)
        case .failure(let error):  // there is no context, so it never began; nor shall it on another worker
            _ = take()
            race.finish(with: .failure(error))
            return true
        }
    }

    /// Ends the wait, unless the result was first. A job that has not begun never will.
    func abandon(with error: KerberosError) -> Abandonment {
        guard race.finish(with: .failure(error)) else { return .tooLate }
        return take() ? .beforeItBegan : .whileItRuns
    }

    private func take() -> Bool {
        isTaken.compareExchange(expected: false, desired: true, ordering: .acquiringAndReleasing).exchanged
    }

    /// Waits for the result. Call it once.
    func result() async -> Result<Value, KerberosError> {
        await race.value()
    }
}

/// What became of a job whose caller stopped waiting.
enum Abandonment {
    case tooLate, beforeItBegan, whileItRuns
}

/// A ``RealmJob`` of whatever result.
protocol AnyRealmJob: Sendable, AnyObject {
    var hasBegun: Bool { get }
    func run(on worker: RealmWorker) async -> Bool
}

/// A result that comes from whoever is first, awaited once.
final class Race<Value: Sendable>: Sendable {
    private enum State {
        case open
        case awaited(CheckedContinuation<Value, Never>)
        case finished(Value)
        case delivered
    }

    private let state = Mutex(State.open)

    /// Sets the result; false when another was first.
    @discardableResult
    func finish(with value: Value) -> Bool {
        // Nobody is woken under the lock: the runtime has locks of its own then, and takes them the other way round when it calls off a
        // task.
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

    /// Waits for the result. Call it once.
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

/// Runs an actor on a serial queue of its own, so that a C call that blocks for half a minute holds a thread of Dispatch and not one
/// of the few threads that all Swift tasks share.
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
