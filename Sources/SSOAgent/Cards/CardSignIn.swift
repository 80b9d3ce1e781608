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
    /// Why the readers are not known; nil if they are.
    private let fault = Mutex<SmartCardServiceError?>(nil)
    private let limit = Mutex(InsertionLimit())

    /// A realm whose profiles say that a card signs in, and their rules.
    private struct Rule: Hashable {
        let realm: String
        let signIn: SignInRules
    }

    /// The pause before the service is asked again after a failure, at first and at most.
    private static let (firstPause, longestPause) = (Duration.seconds(1), Duration.seconds(60))
    /// How long the service must answer before its next failure is no repetition of the last one.
    private static let steadyTime = Duration.seconds(60)
    private static let unwatched = "smart cards are not watched: "
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

    /// Whether the readers are to be watched: the agent must not exit when it is idle. Can be called from any thread.
    var isWanted: Bool { current.value.canPrompt && !rules.isEmpty }

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
            watch = isWanted ? Task { await follow() } : nil
            guard watch == nil else { continue }
            note(nil)
            if !rules.isEmpty { journal.note(Self.unwatched + "the agent has no terminal or display to prompt for a PIN.") }
        }
        watch?.cancel()
        await watch?.value
    }

    /// The rules under which a card can sign in. If the profile names no certificate, krb5.conf may.
    private var rules: [Rule] {
        let policy = current.value.policy
        var rules: [Rule] = []
        for realm in policy.configurations.map(\.realm) where !rules.contains(where: { $0.realm == realm }) {
            let signIn = policy.signInRules(of: realm)
            let mayBeCard = signIn.certificateIdentity.map(InitialCredentialSource.isCard) ?? true
            if signIn.signsInOnCardInsertion, signIn.allowsCertificate, mayBeCard { rules.append(Rule(realm: realm, signIn: signIn)) }
        }
        return rules
    }

    /// Watches the readers until the task is canceled.
    private func follow() async {
        var (cards, pause) = (InsertedCards(), Self.firstPause)
        var attempt: Attempt?
        while !Task.isCancelled {
            var answered: ContinuousClock.Instant?
            for await change in SmartCardService.changes() {
                switch change {
                case .success(let readers):
                    answered = answered ?? .now
                    note(nil)
                    attempt = next(attempt, after: cards.observe(readers), cards)
                case .failure(let error): note(error)
                }
            }
            cards.serviceEnded()
            if let answered, .now - answered >= Self.steadyTime { pause = Self.firstPause }
            try? await Task.sleep(for: pause)
            pause = min(pause * 2, Self.longestPause)
        }
        attempt?.cancel()
        await attempt?.finish()
    }

    /// Returns the attempt that runs after cards were inserted or removed. One that is in progress continues while its cards are inserted.
    private func next(_ attempt: Attempt?, after inserted: [String], _ cards: InsertedCards) -> Attempt? {
        let last = attempt.flatMap { $0.isOver.load(ordering: .acquiring) ? nil : $0 }
        if let last {
            guard !last.readers.allSatisfy({ cards.hasCard($0) && !inserted.contains($0) }) else { return last }
            last.cancel()
        }
        guard !inserted.isEmpty else { return last }
        return Attempt(inserted) {
            await last?.finish()
            await self.signIn()
        }
    }

    /// Records why the readers are not known, and logs it once. A user who is not at the machine cannot use them, which is no failure.
    private func note(_ error: SmartCardServiceError?) {
        let last = fault.withLock { fault in
            defer { fault = error }
            return fault
        }
        guard last != error else { return }
        guard let error else { return journal.settle(Self.unwatched, "the smart card service answers, or is not needed any more.") }
        let sentence = "\(Self.unwatched)\(error)"
        if error == .forbidden { journal.note(sentence) } else { journal.failure(sentence) }
    }

    private func signIn() async {
        for realm in rules.map(\.realm) where !Task.isCancelled {
            do throws(KerberosError) {
                guard try await current.value.lacksSession(realm: realm) else {
                    journal.note("a smart card was inserted; the user is signed in to \(realm) already.")
                    continue
                }
                guard limit.withLock({ $0.permits(at: .now) }) else {
                    journal.note("a smart card was inserted; no prompt is shown, because \(InsertionLimit.most) were in five minutes.")
                    return
                }
                let session = try await current.value.signInWithCard(realm: realm)
                journal.settle(Self.failure, "\(session.principal) was signed in with the smart card that was inserted.")
                hasSignedIn()
            } catch {
                guard error.code != .canceled else { return }
                journal.failure("\(Self.failure)\(error)")
            }
        }
    }
}

/// A sign-in with the cards that were inserted into readers. Which of them it uses is not known.
private final class Attempt: Sendable {
    let readers: [String]
    let isOver = Atomic(false)
    private let running = Mutex<Task<Void, Never>?>(nil)

    init(_ readers: [String], _ signIn: @escaping @Sendable () async -> Void) {
        self.readers = readers
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

/// Limits the prompts after insertions, because a loose contact, or a device that pretends to be a card, could cause any number of
/// them.
struct InsertionLimit {
    /// The most prompts in five minutes.
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
