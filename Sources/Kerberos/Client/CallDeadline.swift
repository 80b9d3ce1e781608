internal import Synchronization

/// How long a caller waits for a C call, which can't be canceled: the wait ends, the call goes on by itself.
///
/// The time that a person takes to answer a prompt does not count.
final class CallDeadline: Sendable {
    private struct State {
        var limit: Duration
        var remaining: Duration
        var runningSince: ContinuousClock.Instant?
        var isAbandoned = false
        /// Who is being asked now, and what.
        var question: (prompter: any Prompter, request: PromptRequest)?
    }

    private let state: Mutex<State>
    private let clock = ContinuousClock()

    init(_ limit: Duration) {
        state = Mutex(State(limit: limit, remaining: limit, runningSince: nil))
    }

    /// How long that is in all.
    var limit: Duration { state.withLock { $0.limit } }

    /// Gives the call so long in all, unless it has as long already.
    func lengthen(to limit: Duration) {
        state.withLock { state in
            guard limit > state.limit else { return }
            state.remaining += limit - state.limit
            state.limit = limit
        }
    }

    /// Whether the time is up, or nobody waits any more.
    var isOver: Bool {
        let now = clock.now
        return state.withLock { state in
            state.isAbandoned || state.remaining - (state.runningSince.map { now - $0 } ?? .zero) <= .zero
        }
    }

    /// Starts the time, or lets it go on after a question; false when nobody waits for the answer any more.
    @discardableResult
    func resume() -> Bool {
        let now = clock.now
        return state.withLock { state in
            state.question = nil
            if state.runningSince == nil { state.runningSince = now }
            return !state.isAbandoned
        }
    }

    /// Stops the time while somebody is asked; false when nobody waits for the answer any more.
    func pause(for prompter: any Prompter, asked request: PromptRequest) -> Bool {
        let now = clock.now
        return state.withLock { state in
            guard !state.isAbandoned else { return false }
            state.question = (prompter, request)
            if let since = state.runningSince { state.remaining -= now - since }
            state.runningSince = nil
            return true
        }
    }

    /// Nobody waits any more: no question is asked from now on, and who is being asked is told. True when somebody is.
    func abandon() -> Bool {
        let question = state.withLock { state in
            state.isAbandoned = true
            return state.question
        }
        guard let question else { return false }
        question.request.cancel(at: question.prompter)
        return true
    }

    /// Returns when the time is up; throws when the task is canceled first.
    func expiry() async throws {
        while true {
            let now = clock.now
            let wait: Duration = state.withLock { state in
                guard let since = state.runningSince else { return max(state.remaining, .milliseconds(100)) }
                return state.remaining - (now - since)
            }
            if wait <= .zero { return }
            try await clock.sleep(for: wait)
        }
    }
}

/// Whose KDCs a call may have to ask.
enum AskedRealms: Sendable, Hashable {
    /// Those of the client's own realm.
    case own
    /// Those on the way to a service too; its realm is empty where a KDC is asked for it.
    case wayTo(String)
}

extension KerberosClient {
    /// With one KDC.
    private static let usualDeadline = Duration.seconds(10)
    /// With several, since libkrb5 turns to the second after ten seconds; and with those of DNS.
    private static let longDeadline = Duration.seconds(25)

    /// How long a call waits that is given no deadline: by the number of KDCs of the own realm, and of the service's where that is known.
    func defaultDeadline(_ realms: AskedRealms = .own) async throws(KerberosError) -> Duration {
        let own = try await kdcOrder().named.count
        if own != 1 || isFoundInDNS(.own) { return Self.longDeadline }
        guard let other = other(realms), !other.isEmpty else { return Self.usualDeadline }
        let others = try await kdcCount(of: other)
        return others != 1 || isFoundInDNS(.trusted) ? Self.longDeadline : Self.usualDeadline
    }

    /// What gives a call the long time once a KDC has answered, where that one may have sent it on to another realm's.
    func lengthening(_ deadline: CallDeadline, _ realms: AskedRealms, within outer: ReplyNote?) -> ReplyNote? {
        guard other(realms) != nil else { return outer }
        return ReplyNote(within: outer) { deadline.lengthen(to: Self.longDeadline) }
    }

    /// The realm other than the own one that a call may lead to; nil where there is none.
    private func other(_ realms: AskedRealms) -> String? {
        guard case .wayTo(let realm) = realms, realm != configuration.realm else { return nil }
        return realm
    }

    /// The error of a call that got no answer in time; it accuses no realm that may have answered.
    func deadlineError(_ realms: AskedRealms, subject: String, detail: String) -> KerberosError {
        let own = configuration.realm
        let place = other(realms).map { "\(own), or of another realm on the way to \($0.isEmpty ? "the service" : $0)," } ?? own
        return KerberosError(
            .kdcUnreachable,
            subject: subject,
            message: "no KDC of \(place) answered (\(detail)). Check the network or the VPN, then try again."
        )
    }
}
