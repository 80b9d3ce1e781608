internal import Kerberos
internal import Synchronization

/// Runs one piece of work for a key at a time, however many tasks wait for its result.
final class SingleFlight<Key: Hashable & Sendable, Value: Sendable>: Sendable {
    private let running = Mutex<[Key: Task<Result<Value, KerberosError>, Never>]>([:])

    /// Runs the work, or joins what is under way for the key.
    ///
    /// A waiter that is canceled leaves at once; the work goes on for the others, and its own deadlines bound it.
    func run(
        _ key: Key,
        _ work: @escaping @Sendable () async throws(KerberosError) -> Value
    ) async throws(KerberosError) -> Value {
        let task = flight(key, work)
        let (results, continuation) = AsyncStream.makeStream(of: Result<Value, KerberosError>.self)
        Task {
            continuation.yield(await task.value)
            continuation.finish()
        }
        // The stream ends without a result when this task is canceled.
        for await result in results { return try result.get() }
        throw KerberosError(.canceled, subject: "", message: "canceled.")
    }

    /// Runs the work beside, unless it is under way for the key; nobody waits for it.
    func start(_ key: Key, _ work: @escaping @Sendable () async throws(KerberosError) -> Value) {
        _ = flight(key, work)
    }

    private func flight(
        _ key: Key,
        _ work: @escaping @Sendable () async throws(KerberosError) -> Value
    ) -> Task<Result<Value, KerberosError>, Never> {
        running.withLock { running in
            if let task = running[key] { return task }
            let task = Task {
                defer { self.running.withLock { $0[key] = nil } }
                do throws(KerberosError) {
                    return Result<Value, KerberosError>.success(try await work())
                } catch {
                    return .failure(error)
                }
            }
            running[key] = task
            return task
        }
    }
}
