internal import Kerberos
internal import KerberosEngine
internal import Synchronization

/// Signs in with a key when the agent starts, and tries again while no KDC answers. After that the keeper looks after the session.
final class KeytabSignIn: Sendable {
    private typealias Attempt = Task<Result<Principal, KerberosError>, Never>

    private struct State {
        /// The attempt that is under way, or else the last one.
        var attempt: Attempt?
        /// How the last one failed; nil while one is under way.
        var failure: KerberosError?
    }

    private let keytab: AgentOptions.Keytab
    private let current: CurrentExtension
    private let log: @Sendable (String) -> Void
    private let state = Mutex(State())

    /// Between attempts at most, and after a refusal.
    private static let longestWait = Duration.seconds(300)

    /// Begins the first attempt, so that whoever asks from now on can wait for it.
    init(_ keytab: AgentOptions.Keytab, current: CurrentExtension, log: @escaping @Sendable (String) -> Void) {
        self.keytab = keytab
        self.current = current
        self.log = log
        _ = attempt { _ in true }
    }

    /// Tries until it has signed in, or the task is canceled.
    ///
    /// - Parameter notification: Is told how the first attempt went, and when there is a session.
    func run(_ notification: ServiceNotification) async {
        var wait = Duration.seconds(1)
        var isFirst = true
        while !Task.isCancelled {
            let attempt = attempt { _ in !isFirst }
            switch await withTaskCancellationHandler(operation: { await attempt.value }, onCancel: { attempt.cancel() }) {
            case .success(let principal): return notification.signedIn(true, "\(principal) is signed in.")
            case .failure(let error):
                guard !Task.isCancelled else { return }
                let sentence = "the sign-in with the keytab \(keytab.path) failed: \(error)"
                log(sentence)
                if isFirst { notification.signedIn(false, sentence) }
                isFirst = false
                // A key that the KDC refuses may be one that is being changed; sent too often it locks the account.
                if case .refused = RefreshOutcome(error) { wait = Self.longestWait }
            }
            try? await Task.sleep(for: wait)
            wait = min(wait * 2, Self.longestWait)
        }
    }

    /// Whether the agent has signed in: waits for the attempt that is under way, and makes another where no KDC answered the last one,
    /// which may be long ago. However many ask, there is one.
    func hasSignedIn() async -> Bool {
        let attempt = attempt { RefreshOutcome($0) == .unreachable }
        if case .success = await attempt.value { return true }
        return false
    }

    /// The attempt under way, or the last one; or a new one, where there was none or a rule says that this failure is worth another.
    private func attempt(after isWorthAnother: (KerberosError) -> Bool) -> Attempt {
        state.withLock { state in
            if let attempt = state.attempt, state.failure.map(isWorthAnother) != true { return attempt }
            let attempt = Task { await signIn() }
            state = State(attempt: attempt)
            return attempt
        }
    }

    private func signIn() async -> Result<Principal, KerberosError> {
        do throws(KerberosError) {
            return .success(try await current.value.signIn(keytab.principal, using: .keytab(keytab.path)).principal)
        } catch {
            state.withLock { $0.failure = error }
            return .failure(error)
        }
    }
}
