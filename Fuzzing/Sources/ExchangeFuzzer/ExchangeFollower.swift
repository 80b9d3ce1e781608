import FuzzerSupport
import HTTPNegotiate

/// Makes the calls, and checks each result against the previous calls.
struct ExchangeFollower {
    private enum Turn {
        /// No call so far, or a response that did not end the exchange.
        case server
        /// The exchange asked for a request with our header.
        case begin, respond
        /// Our header was sent.
        case sent
        /// The exchange asked for the final token to be verified.
        case verify
        case over
    }

    private var exchange: NegotiateExchange
    private var turn = Turn.server
    private var requests = 0
    /// Whether the server sent a token for our context, so it has received ours.
    private var hasToken = false

    init(_ exchange: NegotiateExchange) { self.exchange = exchange }

    mutating func sent() {
        exchange.sent()
        // Before any response this is a request with a preemptive token; out of turn it is ignored.
        guard turn == .begin || turn == .respond || turn == .server else { return }
        turn = .sent
        requests += 1
        check(requests <= exchange.maximumLegs, "\(requests) requests, but \(exchange.maximumLegs) are allowed")
    }

    mutating func receive(status: Int, challenges: [String]) {
        let action = exchange.receive(status: status, challenges: challenges)
        let challenge = NegotiateChallenge.find(in: challenges)
        guard turn == .server || turn == .sent else { return checkMisuse(action) }
        let isFirst = turn == .server
        switch action {
        case .begin:
            check(isFirst && status == 401 && challenge == .found(NegotiateChallenge()), "A token is requested without a challenge")
            turn = .begin
        case .respond(let token):
            check(!isFirst && status == 401 && challenge == .found(NegotiateChallenge(token: token)), "Another leg without a token")
            check(requests < exchange.maximumLegs, "Another leg beyond the limit")
            hasToken = true
            turn = .respond
        case .verify(let token):
            check(
                !isFirst && status != 401 && challenge == .found(NegotiateChallenge(token: token)),
                "A final token is verified that was not sent"
            )
            check(exchange.mutualAuthentication != .off, "A final token is verified although mutual authentication is off")
            turn = .verify
        case .deliver(let delivery): checkDelivered(delivery, status: status, isFirst: isFirst, challenge)
        case .fail(let error): checkFailed(error)
        }
    }

    mutating func verified() {
        let action = exchange.verified()
        guard turn == .verify || turn == .respond else { return checkMisuse(action) }
        if turn == .verify {
            check(action == .deliver(.authenticated), "A verified final token is not accepted")
        } else if case .deliver(.refused) = action {
        } else {
            check(false, "A 401 whose token completes the context is not delivered")
        }
        turn = .over
    }

    mutating func declined() {
        let action = exchange.declined()
        guard turn == .begin else { return checkMisuse(action) }
        check(action == .deliver(.unauthenticated), "A declined 401 is not delivered")
        turn = .over
    }

    /// Checks that the exchange ends from any state, even if the server always sends a challenge.
    mutating func end() {
        for _ in 0...(exchange.maximumLegs + 1) where turn != .over {
            if turn == .verify { return verified() }
            sent()
            receive(status: 401, challenges: ["Negotiate Zm9v"])
        }
        check(turn == .over, "The exchange does not end")
    }

    private mutating func checkDelivered(
        _ delivery: NegotiateExchange.Delivery,
        status: Int,
        isFirst: Bool,
        _ challenge: NegotiateChallenge.Result
    ) {
        switch delivery {
        case .unauthenticated: check(isFirst || !hasToken && status != 401, "An authenticated response is delivered as unauthenticated")
        case .authenticated:
            check(!isFirst && status != 401 && exchange.mutualAuthentication != .required, "The server is trusted without its token")
        case .refused(let reason):
            check(status == 401, "Nothing was refused")
            check(!isFirst || challenge != .absent && challenge != .found(NegotiateChallenge()), "A challenge is not answered")
            checkSentence(reason)
        }
        turn = .over
    }

    private mutating func checkFailed(_ error: AuthorizationError) {
        check(error.code != .failed, "A call in turn is refused: \(error)")
        checkSentence(error.message)
        turn = .over
    }

    private mutating func checkMisuse(_ action: NegotiateExchange.Action) {
        guard case .fail(let error) = action else { fatalError("A call out of turn is answered with \(action)") }
        check(error.code == .failed, "A call out of turn is \(error.code)")
        checkSentence(error.message)
        turn = .over
    }

    /// Checks that a message for users is short and on one line, regardless of the server's input.
    private func checkSentence(_ text: String) {
        check(text.hasSuffix("."), "\(text.debugDescription) is not a sentence")
        check(text.utf8.count <= 1000, "A message of \(text.utf8.count) bytes")
        check(text.utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7F }, "\(text.debugDescription) is not on one line")
    }
}
