internal import Synchronization

/// Lets one sign-in of the process use a smart card at a time.
///
/// At the end of each sign-in, libkrb5 ends the use of the card's module for the whole process (`C_Finalize` of PKCS #11), so that another
/// one that is waiting for its PIN could not use the card afterwards.
final class CardTurns: Sendable {
    /// The turns of this process.
    static let shared = CardTurns(patience: .seconds(60))

    private struct State {
        var isTaken = false
        /// The sign-ins that wait, the first one first.
        var waiting: [Race<Outcome>] = []
    }

    private enum Outcome { case turn, late, canceled }

    private let state = Mutex(State())
    private let patience: Duration

    /// - Parameter patience: How long a sign-in waits for another one, which may be waiting for a person.
    init(patience: Duration) { self.patience = patience }

    /// Waits until no other sign-in uses a card. The order is that of the calls.
    ///
    /// - Parameter limit: How long to wait, if less than the usual time.
    /// - Throws: ``KerberosError``; `busy` if the wait takes too long, `canceled` if the task is canceled first.
    func next(subject: String, within limit: Duration? = nil) async throws(KerberosError) -> CardTurn {
        let race = Race<Outcome>()
        let isFree = state.withLock { state in
            defer { state.isTaken = true }
            if state.isTaken { state.waiting.append(race) }
            return !state.isTaken
        }
        guard !isFree else { return CardTurn(self) }
        let wait = min(patience, limit ?? patience)
        let timer = Task {
            try await Task.sleep(for: wait)
            race.finish(with: .late)
        }
        defer { timer.cancel() }
        let outcome = await withTaskCancellationHandler {
            await race.value()
        } onCancel: {
            race.finish(with: .canceled)
        }
        if outcome != .turn { state.withLock { $0.waiting.removeAll { $0 === race } } }
        switch outcome {
        case .turn: return CardTurn(self)
        case .late: throw KerberosError(.busy, subject: subject, message: Self.busy)
        case .canceled: throw KerberosError(.canceled, subject: subject, message: "canceled.")
        }
    }

    private static let busy =
        "another sign-in uses a smart card, and may be waiting for its PIN. Enter that PIN or cancel its prompt, then try again."

    /// The number of sign-ins that wait.
    var waitingCount: Int { state.withLock { $0.waiting.count } }

    /// Passes the turn to the first sign-in that still waits.
    fileprivate func pass() {
        while let next = nextWaiting(), !next.finish(with: .turn) {}
    }

    private func nextWaiting() -> Race<Outcome>? {
        state.withLock { state in
            guard !state.waiting.isEmpty else {
                state.isTaken = false
                return nil
            }
            return state.waiting.removeFirst()
        }
    }
}

/// The turn of one sign-in. It ends with the last reference: the closure that calls libkrb5 holds one, because that call may continue when
/// its caller has stopped waiting.
final class CardTurn: Sendable {
    private let turns: CardTurns
    private let isOver = Atomic(false)

    fileprivate init(_ turns: CardTurns) { self.turns = turns }

    /// Ends the turn after a while at the latest: the module of a call that was abandoned may never return.
    func endSoon(after grace: Duration = .seconds(60)) {
        Task { [weak self] in
            try await Task.sleep(for: grace)
            self?.end()
        }
    }

    private func end() {
        if !isOver.exchange(true, ordering: .acquiringAndReleasing) { turns.pass() }
    }

    deinit { end() }
}

extension KerberosClient {
    /// Runs a sign-in with a certificate, in a turn if the certificate is on a card.
    ///
    /// - Throws: ``KerberosError``; `busy` if another sign-in uses a card for too long.
    func withCardTurn<Value: Sendable>(
        for source: InitialCredentialSource,
        subject: String,
        deadline: Duration?,
        _ signIn: (CardTurn?) async throws(KerberosError) -> Value
    ) async throws(KerberosError) -> Value {
        guard try await isOnCard(source) else { return try await signIn(nil) }
        let turn = try await CardTurns.shared.next(subject: subject, within: deadline)
        do throws(KerberosError) {
            return try await signIn(turn)
        } catch {
            turn.endSoon()
            throw error
        }
    }

    private func isOnCard(_ source: InitialCredentialSource) async throws(KerberosError) -> Bool {
        guard case .certificate(nil, _) = source else { return source.isCard }
        return try await configuredCertificate().map(InitialCredentialSource.isCard) ?? false
    }
}
