internal import HTTPNegotiate
internal import Synchronization

/// What has come in for a keeper since it last looked. What comes many times in between is there once.
final class KeeperInbox: Sendable {
    struct Contents {
        /// The caches may have changed.
        var isPoked = false
        var hasNetworkChanged = false
        /// Whose tickets were used last when; nil is everybody's.
        var uses: [String?: Moment] = [:]
        var logins: Set<LoginChange> = []
        var configurations: [ExtensionConfiguration]?
        var results: [KeeperResult] = []
    }

    /// Yields when there is something to take, once for all that comes in until it is taken.
    let rings: AsyncStream<Void>
    private let bell: AsyncStream<Void>.Continuation
    /// Nil when nothing has come in.
    private let contents = Mutex<Contents?>(nil)
    private let isLookWanted = Atomic(false)
    private let uses = Mutex<[String?: Moment]>([:])

    init() { (rings, bell) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1)) }

    func put(_ change: (inout Contents) -> Void) {
        let isFirst = contents.withLock { contents in
            let isFirst = contents == nil
            var changed = contents.take() ?? Contents()
            change(&changed)
            contents = changed
            return isFirst
        }
        if isFirst { bell.yield() }
    }

    /// The caches may have changed. Until the keeper looks it is told once: thousands of changes come in the second before.
    func wantLook() {
        guard !isLookWanted.exchange(true, ordering: .acquiringAndReleasing) else { return }
        put { $0.isPoked = true }
    }

    /// What changes from now on may be missed by the look that begins.
    func willLook() { isLookWanted.store(false, ordering: .sequentiallyConsistent) }

    /// Notes a use, of which there may be thousands a second: it wakes nobody, since it is of interest only when something else is done.
    func noteUse(of principal: String?, at moment: Moment) { uses.withLock { $0[principal] = moment } }

    func take() -> Contents {
        var taken = contents.withLock { $0.take() } ?? Contents()
        taken.uses = uses.withLock { uses in
            defer { uses = [:] }
            return uses
        }
        return taken
    }
}

/// How something that the schedule asked for has ended.
enum KeeperResult: Sendable {
    case refresh(SeenSession.Key, RefreshOutcome)
    case probe(realm: String, isReachable: Bool)
    /// Nil: it failed.
    case signOut(principal: String, ended: Set<SeenSession.Key>?)
}
