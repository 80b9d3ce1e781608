internal import HTTPNegotiate
internal import Kerberos
internal import KerberosEngine
internal import Synchronization

/// Signs in with a key when the agent starts, and tries again while that fails. After that the keeper looks after the session; where one
/// has ended all the same, the next request that needs it, and profiles that name its realm again, have it signed in anew.
final class KeytabSignIn: Sendable {
    private typealias Outcome = Result<Principal, KerberosError>

    /// The attempt that is under way, or else the last one.
    private struct Attempt {
        let number: Int
        let task: Task<Outcome, Never>
        /// How it ended, and when; nil while it is under way.
        var end: (outcome: Outcome, at: ContinuousClock.Instant)?
    }

    private struct State {
        var attempt: Attempt?
        var isStopped = false
        var isDue = false
        var haveProfilesChanged = false
    }

    /// Why another attempt may be made.
    private enum Occasion {
        case start, timer, profiles, request

        /// Whether it is worth another attempt after one that has ended so.
        func isWorthAnother(after outcome: Outcome, _ age: Duration) -> Bool {
            switch outcome {
            // Only a look shows whether there is still a session. No timer signs in whom somebody has signed out.
            case .success: return self == .profiles || self == .request
            case .failure(let error):
                let kind = RefreshOutcome(error)
                switch self {
                case .start, .timer: return true
                // A key that the KDC refuses, sent too often, locks the account.
                case .profiles: return kind != .refused && kind != .needsPerson
                // Else each request would wait for a KDC that is away.
                case .request: return kind == .unreachable && age >= KeytabSignIn.pauseAfterUnreachable
                }
            }
        }
    }

    private let keytab: AgentOptions.Keytab
    private let current: CurrentExtension
    private let journal: Journal
    /// Looks whose the key is, whoever waits for a KDC meanwhile.
    private let reader = KerberosClient(RealmConfiguration(realm: ""))
    private let state = Mutex(State())
    private let wakes = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))

    /// Between attempts at most, and after a refusal.
    private static let longestWait = Duration.seconds(300)
    private static let pauseAfterUnreachable = Duration.seconds(5)

    /// Begins the first attempt, so that whoever asks from now on can wait for it.
    init(_ keytab: AgentOptions.Keytab, current: CurrentExtension, journal: Journal) {
        self.keytab = keytab
        self.current = current
        self.journal = journal
        _ = attempt(.start)
        current.onReplacement { [weak self] in
            guard let self else { return }
            state.withLock { $0.haveProfilesChanged = true }
            wakes.continuation.yield()
        }
    }

    /// Sees to the attempts, and tells how they went, until the task is canceled. Run it once.
    ///
    /// - Parameter notification: Is told how each attempt went that changes what it was told before.
    func run(_ notification: ServiceNotification) async {
        var timer: Task<Void, Never>?
        defer { timer?.cancel() }
        var (told, wait, hasFailed) = (0, Duration.seconds(1), false)
        for await _ in wakes.stream {
            let (isDue, haveProfilesChanged) = takeOccasions()
            if haveProfilesChanged, await isRealmNamed() { _ = attempt(.profiles) }
            if isDue { _ = attempt(.timer) }
            guard let attempt = state.withLock({ $0.attempt }), attempt.number > told else { continue }
            timer?.cancel()
            guard let outcome = await Self.outcome(of: attempt), !Task.isCancelled else { return }
            switch outcome {
            case .success(let principal):
                if told == 0 || hasFailed { notification.signedIn(true, "\(principal) is signed in.") }
                if hasFailed { journal.note("signed in as \(principal) with the keytab \(keytab.path).") }
                (wait, hasFailed) = (.seconds(1), false)
            case .failure(let error):
                if [.refused, .needsPerson].contains(RefreshOutcome(error)) { wait = Self.longestWait }
                let sentence = "the sign-in with the keytab \(keytab.path) failed: \(error) The agent tries again in \(Self.text(wait))."
                journal.failure(sentence)
                notification.signedIn(false, sentence)
                hasFailed = true
                timer = Task { [wait] in
                    guard (try? await Task.sleep(for: wait)) != nil else { return }
                    state.withLock { $0.isDue = true }
                    wakes.continuation.yield()
                }
                wait = min(wait * 2, Self.longestWait)
            }
            told = attempt.number
        }
    }

    /// Ends the attempt that is under way, and begins no other: whoever waits is answered.
    func stop() {
        let attempt = state.withLock { state in
            state.isStopped = true
            return state.attempt
        }
        attempt?.task.cancel()
    }

    /// Whether the agent has signed in whom a request needs: false at once where the key is another's. Else this waits for the attempt that
    /// is under way, or makes another where the session has ended, or where no KDC answered a while ago. However many ask, there is one.
    func hasSignedIn(realm: String, principal name: String?) async -> Bool {
        guard let own = try? await principal(in: current.value) else { return false }
        if let name {
            guard let wanted = try? await current.value.principal(name, realm: realm), wanted == own else { return false }
        } else if own.realm != realm {
            return false
        }
        guard case .success = await Self.outcome(of: attempt(.request)) else { return false }
        return true
    }

    private func takeOccasions() -> (isDue: Bool, haveProfilesChanged: Bool) {
        state.withLock { state in
            defer { (state.isDue, state.haveProfilesChanged) = (false, false) }
            return (state.isDue, state.haveProfilesChanged)
        }
    }

    private func isRealmNamed() async -> Bool {
        let kerberos = current.value
        guard let own = try? await principal(in: kerberos) else { return false }
        return kerberos.policy.configurations.contains { $0.realm == own.realm }
    }

    /// Whose key it is: no KDC is asked.
    private func principal(in kerberos: KerberosExtension) async throws(KerberosError) -> Principal {
        if let name = keytab.principal { return try await kerberos.principal(name) }
        return try await reader.firstPrincipal(inKeytab: .keytab(keytab.path))
    }

    /// The attempt under way, or a new one where the occasion is worth it, or the last one.
    private func attempt(_ occasion: Occasion) -> Attempt {
        state.withLock { state in
            var previous: Principal?
            if let attempt = state.attempt {
                guard let end = attempt.end, !state.isStopped else { return attempt }
                guard occasion.isWorthAnother(after: end.outcome, .now - end.at) else { return attempt }
                previous = try? end.outcome.get()
            }
            let attempt = Attempt(number: (state.attempt?.number ?? 0) + 1, task: Task { [previous] in await signIn(unless: previous) })
            state.attempt = attempt
            wakes.continuation.yield()
            return attempt
        }
    }

    /// - Parameter previous: Who was signed in before. Whoever asks may have looked just before that.
    private func signIn(unless previous: Principal?) async -> Outcome {
        let outcome: Outcome
        do throws(KerberosError) {
            let kerberos = current.value
            if let previous, try await kerberos.sessions().sessions.contains(where: { $0.principal == previous && $0.isSignedIn }) {
                outcome = .success(previous)
            } else {
                outcome = .success(try await kerberos.signInUnattended(keytab.principal, using: .keytab(keytab.path)).principal)
            }
        } catch {
            outcome = .failure(error)
        }
        state.withLock { $0.attempt?.end = (outcome, .now) }
        return outcome
    }

    /// Nil when the task that waits is canceled.
    private static func outcome(of attempt: Attempt) async -> Outcome? {
        let (outcomes, continuation) = AsyncStream.makeStream(of: Outcome.self)
        Task {
            continuation.yield(await attempt.task.value)
            continuation.finish()
        }
        for await outcome in outcomes { return outcome }
        return nil
    }

    private static func text(_ wait: Duration) -> String {
        let (count, unit) = wait < .seconds(120) ? (wait.components.seconds, "second") : (wait.components.seconds / 60, "minute")
        return count == 1 ? "1 \(unit)" : "\(count) \(unit)s"
    }
}
