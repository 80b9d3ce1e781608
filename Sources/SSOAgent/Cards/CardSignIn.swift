internal import Kerberos
internal import KerberosEngine
internal import SignOnPolicy
internal import SmartCardReaders
internal import Synchronization

/// Signs in when a smart card is inserted, if a profile says so (`SignInOnCardInsertion`), and cancels the prompt for its PIN when the card
/// is removed.
///
/// The readers are watched only while an active profile says so, and if the agent can prompt.
final class CardSignIn: Sendable {
    private let current: CurrentExtension
    private let journal: Journal
    private let hasSignedIn: @Sendable () -> Void
    private let wakes = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))

    /// A realm whose profiles say that a card signs in, and their rules.
    private struct Rule: Hashable {
        let realm: String
        let signIn: SignInRules
    }

    /// The pause before the service is asked again after a failure, at first and at most.
    private static let (firstPause, longestPause) = (Duration.seconds(1), Duration.seconds(60))
    /// How long the service must have answered before its failure is no repetition of the last one.
    private static let steadyTime = Duration.seconds(60)
    private static let fault = "smart cards are not watched: "
    private static let failure = "the sign-in with the smart card that was inserted failed: "

    /// - Parameters:
    ///   - current: Provides the extension that signs in.
    ///   - journal: Receives what was signed in, and failures.
    ///   - hasSignedIn: Called after each sign-in.
    init(_ current: CurrentExtension, journal: Journal, hasSignedIn: @escaping @Sendable () -> Void) {
        self.current = current
        self.journal = journal
        self.hasSignedIn = hasSignedIn
        wakes.continuation.yield()
        current.onReplacement { [wakes] in wakes.continuation.yield() }
    }

    /// Whether the readers are watched: the agent must not exit when it is idle. Can be called from any thread.
    var isWatching: Bool { current.value.canPrompt && !rules.isEmpty }

    /// Runs until the task is canceled. Call it once.
    func run() async {
        var (watch, watched): (Task<Void, Never>?, [Rule]) = (nil, [])
        for await _ in wakes.stream {
            // With other rules, a card that is inserted already may sign in.
            let rules = rules
            guard rules != watched else { continue }
            watched = rules
            watch?.cancel()
            await watch?.value
            watch = isWatching ? Task { await follow() } : nil
            if watch == nil, !rules.isEmpty { journal.note(Self.fault + "the agent has no terminal or display to prompt for a PIN.") }
        }
        watch?.cancel()
        await watch?.value
    }

    private var rules: [Rule] {
        let policy = current.value.policy
        var rules: [Rule] = []
        for realm in policy.configurations.map(\.realm) where !rules.contains(where: { $0.realm == realm }) {
            let rule = Rule(realm: realm, signIn: policy.signInRules(of: realm))
            if rule.signIn.signsInOnCardInsertion { rules.append(rule) }
        }
        return rules
    }

    /// Watches the readers until the task is canceled.
    private func follow() async {
        var (cards, prompts) = (InsertedCards(), InsertionLimit())
        var (pause, fault): (Duration, SmartCardServiceError?) = (Self.firstPause, nil)
        var attempt: Attempt?
        while !Task.isCancelled {
            let start = ContinuousClock.now
            for await change in SmartCardService.changes() {
                switch change {
                case .success(let readers):
                    if fault != nil { journal.settle(Self.fault, "smart cards are watched.") }
                    fault = nil
                    attempt = next(attempt, after: cards.observe(readers), cards, &prompts)
                case .failure(let error):
                    if fault != error { report(error) }
                    fault = error
                }
            }
            cards.serviceEnded()
            if .now - start >= Self.steadyTime { pause = Self.firstPause }
            try? await Task.sleep(for: pause)
            pause = min(pause * 2, Self.longestPause)
        }
        attempt?.cancel()
        await attempt?.finish()
    }

    /// Returns the attempt that runs after cards were inserted or removed. One that is in progress continues while its card is inserted.
    private func next(
        _ attempt: Attempt?,
        after inserted: [String],
        _ cards: InsertedCards,
        _ prompts: inout InsertionLimit
    ) -> Attempt? {
        if let attempt, !attempt.isOver.load(ordering: .acquiring) {
            guard inserted.contains(attempt.reader) || !cards.hasCard(attempt.reader) else { return attempt }
            attempt.cancel()
        }
        guard let reader = inserted.first else { return nil }
        guard prompts.permits(at: .now) else {
            journal.failure(Self.failure + "cards were inserted \(InsertionLimit.most) times in five minutes. Sign in with: ksso login")
            return nil
        }
        return Attempt(reader) { await self.signIn() }
    }

    /// A user who is not at the machine cannot use its readers, which is no failure.
    private func report(_ error: SmartCardServiceError) {
        let sentence = "\(Self.fault)\(error)"
        if error == .forbidden { journal.note(sentence) } else { journal.failure(sentence) }
    }

    private func signIn() async {
        for realm in rules.map(\.realm) {
            do throws(KerberosError) {
                guard let session = try await current.value.signInWithCard(realm: realm) else {
                    journal.note("a smart card was inserted; the user is signed in to \(realm) already.")
                    continue
                }
                journal.settle(Self.failure, "\(session.principal) was signed in with the smart card that was inserted.")
                hasSignedIn()
            } catch {
                guard error.code != .canceled else { return }
                journal.failure("\(Self.failure)\(error)")
            }
        }
    }
}

/// A sign-in with the card that was inserted into a reader.
private final class Attempt: Sendable {
    let reader: String
    let isOver = Atomic(false)
    private let running = Mutex<Task<Void, Never>?>(nil)

    init(_ reader: String, _ signIn: @escaping @Sendable () async -> Void) {
        self.reader = reader
        running.withLock { running in
            running = Task {
                await signIn()
                isOver.store(true, ordering: .releasing)
            }
        }
    }

    func cancel() { running.withLock { $0?.cancel() } }

    func finish() async { await running.withLock { $0 }?.value }
}

/// The cards in the readers, as far as insertions follow from them.
struct InsertedCards {
    private var readers: [String: SmartCardReader] = [:]
    /// Whether the counts of changes are those of the service that runs.
    private var countsMatter = false

    /// Records the readers, and returns those into which a card was inserted since the last call. Cards that are there at the first call
    /// have been inserted.
    mutating func observe(_ list: [SmartCardReader]) -> [String] {
        let inserted = list.filter { reader in
            guard reader.hasCard else { return false }
            guard let known = readers[reader.name], known.hasCard else { return true }
            // The card was removed and inserted again.
            return countsMatter && known.changes != reader.changes
        }
        readers = Dictionary(list.map { ($0.name, $0) }) { first, _ in first }
        countsMatter = true
        return inserted.map(\.name)
    }

    /// Whether a card is in the reader.
    func hasCard(_ reader: String) -> Bool { readers[reader]?.hasCard == true }

    /// Records that the service has ended. Another one counts again from 0.
    mutating func serviceEnded() { countsMatter = false }
}

/// Limits the sign-ins after insertions, because a loose contact, or a device that pretends to be a card, could cause any number of
/// prompts.
struct InsertionLimit {
    /// The most sign-ins in five minutes.
    static let most = 5
    private var times: [ContinuousClock.Instant] = []

    /// Returns whether another sign-in may begin, and counts it.
    mutating func permits(at now: ContinuousClock.Instant) -> Bool {
        times.removeAll { now - $0 >= .seconds(300) }
        guard times.count < Self.most else { return false }
        times.append(now)
        return true
    }
}
