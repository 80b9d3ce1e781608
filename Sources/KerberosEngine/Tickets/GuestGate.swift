internal import Kerberos
internal import Synchronization

/// Lets a few of a guest's requests ask the KDC at a time, and a few more wait, because a guest may have tickets for any host of a domain,
/// and could have the KDC asked for thousands.
final class GuestGate: Sendable {
    private struct Waiting {
        let number: Int
        let continuation: CheckedContinuation<Bool, Never>
    }

    private struct Guest {
        var running = 0
        /// The oldest first.
        var waiting: [Waiting] = []
    }

    private struct State {
        var guests: [UInt32: Guest] = [:]
        var lastNumber = 0
    }

    private let state = Mutex(State())
    /// How many of one guest's requests ask the KDC at a time.
    static let limit = 3
    /// How many more wait.
    static let waitingLimit = 32
    /// How long one waits.
    static let patience = Duration.seconds(5)

    /// Runs what asks the KDC.
    ///
    /// - Parameters:
    ///   - guest: For whom; nil is the owner, who waits for no guest.
    ///   - subject: What is asked for.
    /// - Throws: `KerberosError`; `busy` if too many of the guest's requests wait.
    func run<Value: ~Copyable & Sendable>(
        for guest: UInt32?,
        subject: String,
        _ work: () async throws(KerberosError) -> Value
    ) async throws(KerberosError) -> Value {
        guard let guest else { return try await work() }
        guard await enter(guest) else {
            let message = "too many requests of user \(guest) wait for the KDC. Try again in a moment."
            throw KerberosError(.busy, subject: subject, message: message)
        }
        defer { leave(guest) }
        return try await work()
    }

    /// False if the guest's turn does not come.
    private func enter(_ guest: UInt32) async -> Bool {
        let number = state.withLock { state in
            state.lastNumber += 1
            return state.lastNumber
        }
        let timer = Task {
            try await Task.sleep(for: Self.patience)
            self.giveUp(guest, number)
        }
        defer { timer.cancel() }
        return await withCheckedContinuation { continuation in
            let isAdmitted = state.withLock { state -> Bool? in
                var present = state.guests[guest] ?? Guest()
                defer { state.guests[guest] = present }
                if present.running < Self.limit {
                    present.running += 1
                    return true
                }
                guard present.waiting.count < Self.waitingLimit else { return false }
                present.waiting.append(Waiting(number: number, continuation: continuation))
                return nil
            }
            if let isAdmitted { continuation.resume(returning: isAdmitted) }
        }
    }

    private func giveUp(_ guest: UInt32, _ number: Int) {
        let waiting = state.withLock { state -> Waiting? in
            guard let index = state.guests[guest]?.waiting.firstIndex(where: { $0.number == number }) else { return nil }
            return state.guests[guest]?.waiting.remove(at: index)
        }
        waiting?.continuation.resume(returning: false)
    }

    /// The request that has waited longest takes the place.
    private func leave(_ guest: UInt32) {
        let next = state.withLock { state -> Waiting? in
            guard var present = state.guests[guest] else { return nil }
            defer { state.guests[guest] = present.running == 0 ? nil : present }
            guard present.waiting.isEmpty else { return present.waiting.removeFirst() }
            present.running -= 1
            return nil
        }
        next?.continuation.resume(returning: true)
    }
}
