internal import Synchronization

/// The time limit for a C call, which cannot be canceled: at the limit the caller stops waiting, and the call continues unobserved.
///
/// The time that a user takes to answer a prompt does not count.
final class CallDeadline: Sendable {
    private struct State {
        var limit: Duration
        var remaining: Duration
        var runningSince: ContinuousClock.Instant?
        var isAbandoned = false
        /// The prompt that is open, if any.
        var question: (prompter: any Prompter, request: PromptRequest)?
    }

    private let state: Mutex<State>
    private let clock = ContinuousClock()

    init(_ limit: Duration) {
        state = Mutex(State(limit: limit, remaining: limit, runningSince: nil))
    }

    /// The total time allowed.
    var limit: Duration { state.withLock { $0.limit } }

    /// Raises the total time to the given limit; never lowers it.
    func lengthen(to limit: Duration) {
        state.withLock { state in
            guard limit > state.limit else { return }
            state.remaining += limit - state.limit
            state.limit = limit
        }
    }

    /// Whether the time is up or the caller has stopped waiting.
    var isOver: Bool {
        let now = clock.now
        return state.withLock { state in
            state.isAbandoned || state.remaining - (state.runningSince.map { now - $0 } ?? .zero) <= .zero
        }
    }

    /// Starts the clock, or continues it after a prompt; false if the caller has stopped waiting.
    @discardableResult
    func resume() -> Bool {
        let now = clock.now
        return state.withLock { state in
            state.question = nil
            if state.runningSince == nil { state.runningSince = now }
            return !state.isAbandoned
        }
    }

    /// Stops the clock while a prompt is open; false if the caller has stopped waiting.
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

    /// Marks the call as abandoned: cancels the open prompt and prevents further ones. Returns whether a prompt was open.
    func abandon() -> Bool {
        let question = state.withLock { state in
            state.isAbandoned = true
            return state.question
        }
        guard let question else { return false }
        question.request.cancel(at: question.prompter)
        return true
    }

    /// Returns when the time is up; throws if the task is canceled first.
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

/// The realms whose KDCs a call may contact.
enum AskedRealms: Sendable, Hashable {
    /// The client's realm.
    case own
    /// Also the realms on the path to a service in this realm; an empty realm means that the KDC finds it.
    case wayTo(String)
}

extension KerberosClient {
    /// The default with one KDC.
    private static let usualDeadline = Duration.seconds(10)
    /// The default with several KDCs, because libkrb5 tries the second one after ten seconds, and with KDCs found in DNS.
    private static let longDeadline = Duration.seconds(25)

    /// The time limit of a call without a deadline, by the number of KDCs of the client's realm and of the service's realm if known.
    func defaultDeadline(_ realms: AskedRealms = .own) async throws(KerberosError) -> Duration {
        let own = try await kdcOrder().named.count
        if own != 1 || isFoundInDNS(.own) { return Self.longDeadline }
        guard let other = other(realms), !other.isEmpty else { return Self.usualDeadline }
        let others = try await kdcCount(of: other)
        return others != 1 || isFoundInDNS(.trusted) ? Self.longDeadline : Self.usualDeadline
    }

    /// A note that raises the deadline to the long limit after a KDC's first reply, which may refer the client to another realm's KDC.
    func lengthening(_ deadline: CallDeadline, _ realms: AskedRealms, within outer: ReplyNote?) -> ReplyNote? {
        guard other(realms) != nil else { return outer }
        return ReplyNote(within: outer) { deadline.lengthen(to: Self.longDeadline) }
    }

    /// The realm other than the client's own that a call may lead to; nil if there is none.
    private func other(_ realms: AskedRealms) -> String? {
        guard case .wayTo(let realm) = realms, realm != configuration.realm else { return nil }
        return realm
    }

    /// The error of a call that got no reply in time. It blames no realm whose KDC may have replied.
    func deadlineError(_ realms: AskedRealms, subject: String, detail: String) -> KerberosError {
        let own = configuration.realm
        let other = other(realms)
        let place = other.map { "\(own), or of another realm on the path to \($0.isEmpty ? "the service" : $0)," } ?? own
        return KerberosError(
            .kdcUnreachable,
            subject: subject,
            message: "no KDC of \(place) answered (\(detail)). Check the network or the VPN, then run: "
                + "ksso doctor\(other == nil ? " \(own)" : "")"
        )
    }
}
