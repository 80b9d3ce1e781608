internal import Synchronization

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
