internal import Kerberos
internal import KerberosEngine
internal import SignOnPolicy
internal import SmartCardReaders

/// Signs in when a smart card is inserted, if a profile says so (`SignInOnCardInsertion`), and cancels the prompt for its PIN when no card
/// is inserted any more.
///
/// The readers are watched only while an active profile says so, and if the agent can prompt.
final class CardSignIn: Sendable {
    private let current: CurrentExtension
    private let journal: Journal
    private let hasSignedIn: @Sendable () -> Void
    private let wakes = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))

    /// The pause before the service of the readers is asked again after a failure, at first and at most.
    private static let (firstPause, longestPause) = (Duration.seconds(1), Duration.seconds(60))
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

    /// Runs until the task is canceled. Call it once.
    func run() async {
        var watch: Task<Void, Never>?
        for await _ in wakes.stream {
            if !isWatching {
                watch?.cancel()
                watch = nil
                if !realms.isEmpty { journal.note(Self.fault + "the agent has no terminal or display to prompt for a PIN.") }
            } else if watch == nil {
                watch = Task { await follow() }
            }
        }
        watch?.cancel()
        await watch?.value
    }

    /// Whether the readers are watched: the agent must not exit when it is idle. Can be called from any thread.
    var isWatching: Bool { current.value.canPrompt && !realms.isEmpty }

    /// The realms whose profiles say that a card signs in.
    private var realms: [String] {
        let policy = current.value.policy
        var realms: [String] = []
        for realm in policy.configurations.map(\.realm) where !realms.contains(realm) {
            if policy.signInRules(of: realm).signsInOnCardInsertion { realms.append(realm) }
        }
        return realms
    }

    private func follow() async {
        var cards = InsertedCards()
        var (pause, fault): (Duration, SmartCardServiceError?) = (Self.firstPause, nil)
        var signIn: Task<Void, Never>?
        while !Task.isCancelled {
            for await change in SmartCardService.changes() {
                switch change {
                case .success(let readers):
                    if fault != nil { journal.settle(Self.fault, "smart cards are watched.") }
                    (pause, fault) = (Self.firstPause, nil)
                    guard let event = cards.observe(readers) else { break }
                    signIn?.cancel()
                    signIn = event == .inserted ? Task { await self.signIn() } : nil
                case .failure(let error):
                    if fault != error { report(error) }
                    fault = error
                }
            }
            cards.serviceEnded()
            try? await Task.sleep(for: pause)
            pause = min(pause * 2, Self.longestPause)
        }
        signIn?.cancel()
        await signIn?.value
    }

    /// A user who is not at the machine cannot use its readers, which is no failure.
    private func report(_ error: SmartCardServiceError) {
        let sentence = "\(Self.fault)\(error)"
        if error == .forbidden { journal.note(sentence) } else { journal.failure(sentence) }
    }

    private func signIn() async {
        for realm in realms {
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

/// The cards in the readers, as far as insertions and removals follow from them.
struct InsertedCards {
    enum Event { case inserted, allRemoved }

    private var readers: [String: SmartCardReader] = [:]
    /// Whether the counts of changes are those of the service that runs.
    private var countsMatter = false

    /// Records the readers, and returns what has happened since the last call. Cards that are there at the first call have been inserted.
    mutating func observe(_ list: [SmartCardReader]) -> Event? {
        let isInserted = list.contains { reader in
            guard reader.hasCard else { return false }
            guard let known = readers[reader.name], known.hasCard else { return true }
            // The card was removed and inserted again.
            return countsMatter && known.changes != reader.changes
        }
        let hadCard = readers.values.contains(where: \.hasCard)
        readers = Dictionary(list.map { ($0.name, $0) }) { first, _ in first }
        countsMatter = true
        if isInserted { return .inserted }
        return hadCard && !list.contains(where: \.hasCard) ? .allRemoved : nil
    }

    /// Records that the service of the readers has ended. Another one counts again from 0.
    mutating func serviceEnded() { countsMatter = false }
}
