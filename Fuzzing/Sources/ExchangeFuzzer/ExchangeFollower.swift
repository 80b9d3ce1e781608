import FuzzerSupport
import HTTPNegotiate

/// Makes the calls, and checks each answer against what has happened so far.
struct ExchangeFollower {
    private enum Turn {
        /// Nothing has happened, or a response that ended nothing.
        case server
        /// The exchange asked for a request with our header.
        case begin, respond
        /// Our header went out.
        case sent
        /// The exchange asked for the final token to be verified.
        case verify
        case over
    }

    private var exchange: NegotiateExchange
    private var turn = Turn.server
    private var requests = 0
    /// The server gave a token for our context, so it has seen ours.
    private var hasToken = false

    init(_ exchange: NegotiateExchange) { self.exchange = exchange }

    mutating func sent() {
        exchange.sent()
        // Before any response it is a request with a token made ahead; out of turn it counts for nothing.
        guard turn == .begin || turn == .respond || turn == .server else { return }
        turn = .sent
        requests += 1
        check(requests <= exchange.maximumLegs, "\(requests) requests where \(exchange.maximumLegs) are allowed")
    }

    mutating func receive(status: Int, challenges: [String]) {
        let action = exchange.receive(status: status, challenges: challenges)
        let challenge = NegotiateChallenge.find(in: challenges)
        guard turn == .server || turn == .sent else { return checkMisuse(action) }
        let isFirst = turn == .server
        switch action {
        case .begin:
            check(isFirst && status == 401 && challenge == .found(NegotiateChallenge()), "A request is asked for without a challenge")
            turn = .begin
        case .respond(let token):
            check(!isFirst && status == 401 && challenge == .found(NegotiateChallenge(token: token)), "Another leg for no token")
            check(requests < exchange.maximumLegs, "Another leg where none is left")
            hasToken = true
            turn = .respond
        case .verify(let token):
            check(!isFirst && status != 401 && challenge == .found(NegotiateChallenge(token: token)), "A final token that was not sent")
            check(exchange.mutualAuthentication != .off, "A final token is verified where nobody asked for it")
            turn = .verify
        case .deliver(let delivery): checkDelivered(delivery, status: status, isFirst: isFirst, challenge)
        case .fail(let error): checkFailed(error)
        }
    }

    mutating func verified() {
        let action = exchange.verified()
        guard turn == .verify || turn == .respond else { return checkMisuse(action) }
        if turn == .verify {
            check(action == .deliver(.authenticated), "A final token that verifies is not enough")
        } else if case .deliver(.refused) = action {
        } else {
            check(false, "A 401 whose token completes the context is not handed on")
        }
        turn = .over
    }

    mutating func declined() {
        let action = exchange.declined()
        guard turn == .begin else { return checkMisuse(action) }
        check(action == .deliver(.unauthenticated), "A 401 that nobody answers is not handed on")
        turn = .over
    }

    /// From wherever it is, a server that asks for ever gets no further.
    mutating func end() {
        for _ in 0...(exchange.maximumLegs + 1) where turn != .over {
            if turn == .verify { return verified() }
            sent()
            receive(status: 401, challenges: ["Negotiate Zm9v"])
        }
        check(turn == .over, "The exchange goes on for ever")
    }

    private mutating func checkDelivered(
        _ delivery: NegotiateExchange.Delivery,
        status: Int,
        isFirst: Bool,
        _ challenge: NegotiateChallenge.Result
    ) {
        switch delivery {
        case .unauthenticated: check(isFirst || !hasToken && status != 401, "The use of Negotiate is denied")
        case .authenticated:
            check(!isFirst && status != 401 && exchange.mutualAuthentication != .required, "The server is believed without its token")
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

    /// For people: short whatever the server sent, and on one line.
    private func checkSentence(_ text: String) {
        check(text.hasSuffix("."), "\(text.debugDescription) is no sentence")
        check(text.utf8.count <= 1000, "A message of \(text.utf8.count) bytes")
        check(text.utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7F }, "\(text.debugDescription) is not on one line")
    }
}
