internal import Kerberos
internal import KerberosEngine
internal import SignOnPolicy
internal import SmartCardReaders

/// Signs in when a smart card is inserted, if a profile asks for it (`SignInOnCardInsertion`), and cancels the prompt for its PIN when the
/// card is removed.
///
/// The readers are watched only while an active profile asks for it.
final class CardSignIn: Sendable {
    private let current: CurrentExtension
    private let journal: Journal
    private let hasSignedIn: @Sendable () -> Void
    private let wakes = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))

    /// The pause before the service of the readers is asked again after a failure, at first and at most.
    private static let (firstPause, longestPause) = (Duration.seconds(1), Duration.seconds(60))

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
            if realms.isEmpty {
                watch?.cancel()
                watch = nil
            } else if watch == nil {
                watch = Task { await follow() }
            }
        }
        watch?.cancel()
        await watch?.value
    }

    /// The realms whose profiles ask for a sign-in.
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
                    if let known = fault { journal.settle("\(known)", "the service of the smart card readers answers again.") }
                    (pause, fault) = (Self.firstPause, nil)
                    guard let event = cards.observe(readers) else { break }
                    signIn?.cancel()
                    signIn = event == .inserted ? Task { await self.signIn() } : nil
                case .failure(let error):
                    if fault != error { journal.failure("\(error)") }
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

    private func signIn() async {
        let failure = "the sign-in with the smart card that was inserted failed: "
        for realm in realms {
            do throws(KerberosError) {
                guard let session = try await current.value.signInWithCard(realm: realm) else {
                    journal.note("a smart card was inserted, but \(realm) needs no sign-in.")
                    continue
                }
                journal.settle(failure, "\(session.principal) was signed in with the smart card that was inserted.")
                hasSignedIn()
            } catch {
                guard error.code != .canceled else { return }
                journal.failure("\(failure)\(error)")
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
