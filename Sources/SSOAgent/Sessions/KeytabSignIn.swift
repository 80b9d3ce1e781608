internal import Kerberos
internal import KerberosEngine
internal import SignOnPolicy
internal import Synchronization
internal import SystemSupport

/// Signs in with a keytab when the agent starts, and retries while that fails. After that, the keeper renews the session. If the session
/// has ended nevertheless, the next request that needs it, or profiles that name its realm again, start another sign-in.
final class KeytabSignIn: Sendable {
    private typealias Outcome = Result<Principal, KerberosError>

    /// The current attempt, or the last one if none is in progress.
    private struct Attempt {
        let number: Int
        let task: Task<Outcome, Never>
        /// The outcome and the time at which the attempt ended; nil while it is in progress.
        var end: (outcome: Outcome, at: ContinuousClock.Instant)?
    }

    private struct State {
        var attempt: Attempt?
        var isStopped = false
        var isDue = false
        var haveProfilesChanged = false
    }

    /// The reason for another attempt.
    private enum Occasion {
        case start, timer, profiles, request

        /// Whether this reason justifies another attempt after one with this outcome.
        func isWorthAnother(after outcome: Outcome, _ age: Duration) -> Bool {
            switch outcome {
            // Only the caches show whether the session still exists. The timer does not undo a sign-out.
            case .success: return self == .profiles || self == .request
            case .failure(let error):
                let kind = RefreshOutcome(error)
                switch self {
                case .start, .timer: return true
                // Sending a key that the KDC refuses too often locks the account.
                case .profiles: return kind != .refused && kind != .needsPerson
                // Otherwise each request would wait for a KDC that is unreachable.
                case .request: return kind == .unreachable && age >= KeytabSignIn.pauseAfterUnreachable
                }
            }
        }
    }

    private let keytab: AgentOptions.Keytab
    private let current: CurrentExtension
    private let journal: Journal
    /// A client for reading the keytab that does not wait while other operations wait for a KDC.
    private let reader = KerberosClient(RealmConfiguration(realm: ""))
    private let state = Mutex(State())
    private let wakes = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))

    /// The longest pause between attempts, which is also the pause after a refusal.
    private static let longestWait = Duration.seconds(300)
    private static let pauseAfterUnreachable = Duration.seconds(5)

    /// Starts the first attempt, so that requests can wait for it from now on.
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

    /// Runs attempts and reports their results until the task is canceled. Call it once.
    ///
    /// - Parameter notification: Receives the result of the first attempt, each failure and the first success after a failure.
    func run(_ notification: ServiceNotification) async {
        var timer: Task<Void, Never>?
        defer { timer?.cancel() }
        var (reported, wait, hasFailed) = (0, Duration.seconds(1), false)
        for await _ in wakes.stream {
            let (isDue, haveProfilesChanged) = takeOccasions()
            if haveProfilesChanged, await isRealmNamed() { _ = attempt(.profiles) }
            if isDue { _ = attempt(.timer) }
            guard let attempt = state.withLock({ $0.attempt }), attempt.number > reported else { continue }
            timer?.cancel()
            guard let outcome = await Self.outcome(of: attempt), !Task.isCancelled else { return }
            switch outcome {
            case .success(let principal):
                if reported == 0 || hasFailed { notification.signedIn(true, "\(principal) is signed in.") }
                if hasFailed { journal.note("signed in as \(principal) with the keytab \(keytab.path).") }
                (wait, hasFailed) = (.seconds(1), false)
            case .failure(let error):
                if [.refused, .needsPerson].contains(RefreshOutcome(error)) { wait = Self.longestWait }
                let sentence = "the sign-in with the keytab \(keytab.path) failed: \(error) The agent retries in \(Self.text(wait))."
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
            reported = attempt.number
        }
    }

    /// Cancels the attempt in progress and prevents others, so that waiting requests are answered.
    func stop() {
        let attempt = state.withLock { state in
            state.isStopped = true
            return state.attempt
        }
        attempt?.task.cancel()
    }

    /// Returns whether the agent has signed in the principal that a request needs; false at once if the keytab is for another principal.
    /// Waits for the attempt in progress, or starts another if the session has ended, or if the last attempt found no KDC some time ago.
    /// Concurrent callers share one attempt.
    func hasSignedIn(realm: String, principal name: String?) async -> Bool {
        guard let own = try? await principal(in: current.value) else { return false }
        if let name {
            guard let wanted = try? await current.value.names.principal(name, realm: realm), wanted == own else { return false }
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

    /// Returns the principal of the keytab without contacting a KDC.
    private func principal(in kerberos: KerberosExtension) async throws(KerberosError) -> Principal {
        if let name = keytab.principal { return try await kerberos.names.principal(name) }
        return try await reader.firstPrincipal(inKeytab: .keytab(keytab.path))
    }

    /// Returns the attempt in progress, or starts another if the occasion justifies one, or else returns the last one.
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

    /// - Parameter previous: The principal of the last successful attempt. Its session may exist again by now, in which case no sign-in is
    ///   needed.
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

    /// Waits for an attempt's outcome; nil if the waiting task is canceled.
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
        return quantity(count, unit)
    }
}
