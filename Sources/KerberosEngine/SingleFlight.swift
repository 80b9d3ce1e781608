internal import Kerberos
internal import Synchronization

/// Runs one operation per key at a time, and gives its result to all tasks that wait for it.
final class SingleFlight<Key: Hashable & Sendable, Value: Sendable>: Sendable {
    private struct Flight {
        let number: Int
        let task: Task<Result<Value, KerberosError>, Never>
        let endsWithItsWaiters: Bool
        let end = End()
        var waiters = 0
    }

    /// The error that replaces the result of an operation that was ended for all of its waiters.
    private final class End: Sendable {
        let error = Mutex<KerberosError?>(nil)
    }

    private struct State {
        var flights: [Key: Flight] = [:]
        var lastNumber = 0
    }

    private let state = Mutex(State())
    private let endsWithItsWaiters: @Sendable (Key) -> Bool

    /// Creates a runner.
    ///
    /// - Parameter endsWithItsWaiters: Whether a key's operation is canceled when its last waiter is canceled, so that the next caller
    ///   starts a new one. Otherwise it continues, bounded by its own deadlines. An operation that may prompt a person ends, so that no
    ///   prompt stays open unnecessarily.
    init(endsWithItsWaiters: @escaping @Sendable (Key) -> Bool) { self.endsWithItsWaiters = endsWithItsWaiters }

    /// Creates a runner whose operations all end with their waiters, or all continue.
    convenience init(endsWithItsWaiters: Bool = false) { self.init { _ in endsWithItsWaiters } }

    /// How many tasks wait for the key's operation.
    func waiters(for key: Key) -> Int { state.withLock { $0.flights[key]?.waiters ?? 0 } }

    /// Runs the operation, or joins the one that runs for the key.
    ///
    /// A canceled waiter returns at once, and the operation continues for the others.
    func run(
        _ key: Key,
        _ work: @escaping @Sendable () async throws(KerberosError) -> Value
    ) async throws(KerberosError) -> Value {
        let flight = join(key, work)
        defer { leave(key, flight) }
        let (results, continuation) = AsyncStream.makeStream(of: Result<Value, KerberosError>.self)
        Task {
            continuation.yield(await flight.task.value)
            continuation.finish()
        }
        // The stream ends without a result if this task is canceled.
        for await result in results {
            if let error = flight.end.error.withLock({ $0 }) { throw error }
            return try result.get()
        }
        throw KerberosError(.canceled, subject: "", message: "canceled.")
    }

    /// Starts the operation in the background, unless one runs for the key.
    func start(_ key: Key, _ work: @escaping @Sendable () async throws(KerberosError) -> Value) {
        // This waiter never leaves.
        _ = join(key, work)
    }

    /// Cancels all operations, even if tasks wait for them.
    func cancelAll() {
        let flights = state.withLock { state in
            defer { state.flights = [:] }
            return state.flights.values.map(\.task)
        }
        for task in flights { task.cancel() }
    }

    /// Cancels the operations of some keys, even if tasks wait for them, and waits until they have ended.
    ///
    /// - Parameter error: What their waiters get, even from an operation that succeeds nevertheless.
    func end(where isEnded: (Key) -> Bool, with error: KerberosError) async {
        let flights = state.withLock { state in
            let ended = state.flights.filter { isEnded($0.key) }
            for key in ended.keys { state.flights[key] = nil }
            return Array(ended.values)
        }
        for flight in flights {
            flight.end.error.withLock { $0 = error }
            flight.task.cancel()
        }
        for flight in flights { _ = await flight.task.value }
    }

    private func join(_ key: Key, _ work: @escaping @Sendable () async throws(KerberosError) -> Value) -> Flight {
        state.withLock { state in
            var flight = state.flights[key] ?? begin(state.lastNumber + 1, key, work)
            state.lastNumber = max(state.lastNumber, flight.number)
            flight.waiters += 1
            state.flights[key] = flight
            return flight
        }
    }

    private func begin(_ number: Int, _ key: Key, _ work: @escaping @Sendable () async throws(KerberosError) -> Value) -> Flight {
        let task = Task {
            defer { end(key, number) }
            do throws(KerberosError) {
                return Result<Value, KerberosError>.success(try await work())
            } catch {
                return .failure(error)
            }
        }
        return Flight(number: number, task: task, endsWithItsWaiters: endsWithItsWaiters(key))
    }

    private func leave(_ key: Key, _ flight: Flight) {
        let unwanted = state.withLock { state -> Flight? in
            guard var present = state.flights[key], present.number == flight.number else { return nil }
            present.waiters -= 1
            state.flights[key] = present.endsWithItsWaiters && present.waiters == 0 ? nil : present
            return state.flights[key] == nil ? present : nil
        }
        unwanted?.task.cancel()
    }

    private func end(_ key: Key, _ number: Int) {
        state.withLock { state in
            if state.flights[key]?.number == number { state.flights[key] = nil }
        }
    }
}
