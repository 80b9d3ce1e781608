internal import Kerberos
internal import Synchronization
internal import SystemSupport

/// Limits how many requests of one guest (another user) ask the KDC at the same time, and how many more wait. A guest may request tickets
/// for any host of a domain, and could otherwise cause thousands of requests to the KDC.
final class GuestRequestLimiter: Sendable {
    private struct Waiting {
        let number: Int
        let continuation: CheckedContinuation<Bool, Never>
    }

    private struct Guest {
        var running = 0
        /// The waiting requests, oldest first.
        var waiting: [Waiting] = []
    }

    private struct State {
        var guests: [UInt32: Guest] = [:]
        var lastNumber = 0
    }

    private let state = Mutex(State())
    /// How many requests of one guest ask the KDC at the same time.
    static let limit = 3
    /// How many more may wait.
    static let waitingLimit = 32
    /// How long a request waits.
    static let longestWait = Duration.seconds(5)

    /// Runs work that asks the KDC.
    ///
    /// - Parameters:
    ///   - guest: The guest's user ID; nil is the owner, who never waits for guests.
    ///   - subject: The subject of the error.
    /// - Throws: `KerberosError`; `busy` if too many of the guest's requests wait, or if this one has waited too long.
    func run<Value: ~Copyable & Sendable>(
        for guest: UInt32?,
        subject: String,
        _ work: () async throws(KerberosError) -> Value
    ) async throws(KerberosError) -> Value {
        guard let guest else { return try await work() }
        guard await enter(guest) else {
            let message = "too many requests of user \(guest) are waiting for the KDC. Try again in a few seconds."
            throw KerberosError(.busy, subject: subject, message: message)
        }
        defer { leave(guest) }
        return try await work()
    }

    /// Waits for admission. Returns false if too many requests wait, if this one has waited too long, or if its task is canceled.
    private func enter(_ guest: UInt32) async -> Bool {
        let number = state.withLock { state in
            state.lastNumber += 1
            return state.lastNumber
        }
        let timer = Task {
            try await Task.sleep(for: Self.longestWait.patient)
            self.giveUp(guest, number)
        }
        defer { timer.cancel() }
        return await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let isAdmitted = state.withLock { state -> Bool? in
                    var present = state.guests[guest] ?? Guest()
                    defer { state.guests[guest] = present }
                    if present.running < Self.limit {
                        present.running += 1
                        return true
                    }
                    // A task that was canceled before would not be found by the handler below, which has run already.
                    guard present.waiting.count < Self.waitingLimit, !Task.isCancelled else { return false }
                    present.waiting.append(Waiting(number: number, continuation: continuation))
                    return nil
                }
                if let isAdmitted { continuation.resume(returning: isAdmitted) }
            }
        } onCancel: {
            giveUp(guest, number)
        }
    }

    private func giveUp(_ guest: UInt32, _ number: Int) {
        let waiting = state.withLock { state -> Waiting? in
            guard let index = state.guests[guest]?.waiting.firstIndex(where: { $0.number == number }) else { return nil }
            return state.guests[guest]?.waiting.remove(at: index)
        }
        waiting?.continuation.resume(returning: false)
    }

    /// Ends a request and admits the one that has waited longest.
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
