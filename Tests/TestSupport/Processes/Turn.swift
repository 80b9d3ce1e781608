/// Lets one test run at a time.
actor Turn {
    private var isTaken = false
    private var waiting: [(number: Int, continuation: CheckedContinuation<Void, any Error>)] = []
    private var next = 0

    /// Runs the closure when no other one runs. Throws `CancellationError` if the task is canceled while it waits.
    nonisolated func run(_ body: @Sendable () async throws -> Void) async throws {
        try await take()
        do {
            try await body()
        } catch {
            await pass()
            throw error
        }
        await pass()
    }

    private func take() async throws {
        guard isTaken else {
            isTaken = true
            return
        }
        next += 1
        let number = next
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { waiting.append((number, $0)) }
        } onCancel: {
            Task { await self.leave(number) }
        }
    }

    private func leave(_ number: Int) {
        guard let index = waiting.firstIndex(where: { $0.number == number }) else { return }
        waiting.remove(at: index).continuation.resume(throwing: CancellationError())
    }

    private func pass() {
        guard !waiting.isEmpty else {
            isTaken = false
            return
        }
        waiting.removeFirst().continuation.resume()
    }
}
