internal import Kerberos
internal import Synchronization

/// Runs one piece of work for a key at a time, however many tasks wait for its result.
final class SingleFlight<Key: Hashable & Sendable, Value: Sendable>: Sendable {
    private struct Flight {
        let number: Int
        let task: Task<Result<Value, KerberosError>, Never>
        var waiters = 0
    }

    private struct State {
        var flights: [Key: Flight] = [:]
        var lastNumber = 0
    }

    private let state = Mutex(State())
    private let endsWithItsWaiters: Bool

    /// - Parameter endsWithItsWaiters: Whether work that everybody has stopped waiting for is called off, so that whoever comes next begins
    ///   anew. Else it goes on, and its own deadlines bound it.
    init(endsWithItsWaiters: Bool = false) { self.endsWithItsWaiters = endsWithItsWaiters }

    /// How many wait for the work that is under way for a key.
    func waiters(for key: Key) -> Int { state.withLock { $0.flights[key]?.waiters ?? 0 } }

    /// Runs the work, or joins what is under way for the key.
    ///
    /// A waiter that is canceled leaves at once, and the work goes on for the others.
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
        // The stream ends without a result when this task is canceled.
        for await result in results { return try result.get() }
        throw KerberosError(.canceled, subject: "", message: "canceled.")
    }

    /// Runs the work beside, unless it is under way for the key; nobody waits for it.
    func start(_ key: Key, _ work: @escaping @Sendable () async throws(KerberosError) -> Value) {
        // One who never leaves.
        _ = join(key, work)
    }

    /// Calls off whatever is under way, whoever waits for it.
    func cancelAll() {
        let flights = state.withLock { state in
            defer { state.flights = [:] }
            return state.flights.values.map(\.task)
        }
        for task in flights { task.cancel() }
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
        return Flight(number: number, task: task)
    }

    private func leave(_ key: Key, _ flight: Flight) {
        let unwanted = state.withLock { state -> Flight? in
            guard var present = state.flights[key], present.number == flight.number else { return nil }
            present.waiters -= 1
            state.flights[key] = endsWithItsWaiters && present.waiters == 0 ? nil : present
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
