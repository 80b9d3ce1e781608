/// The state machine of one request that may be challenged: no clock, no I/O, bounded.
///
/// Feed it each response's status and `WWW-Authenticate` lines, and do what it says:
///
/// ```swift
/// var exchange = NegotiateExchange()
/// switch exchange.receive(status: 401, challenges: ["Negotiate"]) {
/// case .begin: break        // ask a CredentialExtension, send the request again with its headers, then exchange.sent()
/// default: break
/// }
/// ```
///
/// Only 401 is answered. A 407 is a proxy's, and no ticket of an origin is for a proxy.
public struct NegotiateExchange: Sendable {
    /// What the caller must do next.
    public enum Action: Sendable, Hashable {
        /// Hand the response to whoever made the request; the exchange is over.
        case deliver(Delivery)
        /// Ask the extension; then send its headers and call ``NegotiateExchange/sent(fieldSize:)``, or call
        /// ``NegotiateExchange/declined()``.
        case begin
        /// Give the token to the authorization exchange; for a further leg send its headers and call
        /// ``NegotiateExchange/sent(fieldSize:)``, when the context stands call ``NegotiateExchange/verified()``.
        case respond([UInt8])
        /// Give the final token to the authorization exchange and call ``NegotiateExchange/verified()`` when the context stands. A further
        /// leg is an error here.
        case verify([UInt8])
        /// Drop the response and throw the error; the exchange is over.
        case fail(AuthorizationError)
    }

    /// What a delivered response is worth.
    public enum Delivery: Sendable, Hashable {
        /// Negotiate was not used.
        case unauthenticated
        /// The ticket was taken, and the server proved itself as asked.
        case authenticated
        /// The server did not take the ticket, or its challenge cannot be answered, and a sentence that says so: its 401 is the caller's.
        case refused(String)
    }

    /// What to do about a server that never proves itself.
    package static let optionalProofAdvice =
        "If this server never sends such a proof, list its host in OptionalMutualAuthenticationHosts of the profile."

    /// What the stricter of the common servers let through; a refusal of less than this has another reason.
    private static let usualFieldLimit = 4096

    private enum State: Sendable, Hashable {
        case idle, begun, awaitingResponse, responding, verifying, finished
    }

    /// How many requests with an `Authorization` field may be sent.
    public let maximumLegs: Int
    /// Whether the server must prove itself.
    public let mutualAuthentication: MutualAuthentication

    private var state = State.idle
    private var legs = 0
    private var fieldSize = 0
    /// The last token went out before the server asked for one.
    private var isUnasked = false

    /// Makes an exchange for one request.
    ///
    /// - Parameters:
    ///   - maximumLegs: How many requests with an `Authorization` field may be sent; Kerberos needs one. At least 1.
    ///   - mutualAuthentication: Whether the server must prove itself.
    public init(maximumLegs: Int = 4, mutualAuthentication: MutualAuthentication = .required) {
        self.maximumLegs = max(maximumLegs, 1)
        self.mutualAuthentication = mutualAuthentication
    }

    /// Judges a response.
    ///
    /// - Parameters:
    ///   - status: The status code of a final response, not of an interim one (1xx).
    ///   - fieldValues: The values of its `WWW-Authenticate` lines, in their order.
    public mutating func receive(status: Int, challenges fieldValues: [String]) -> Action {
        switch state {
        case .idle: return finishUnlessMore(first(status: status, fieldValues))
        case .awaitingResponse:
            return finishUnlessMore(status == 401 ? challenged(fieldValues) : final(status: status, fieldValues))
        case .begun, .responding, .verifying, .finished: return misuse("receive(status:challenges:)")
        }
    }

    /// A request with our header went out. Before any challenge it is one sent unasked, with a token made ahead.
    ///
    /// - Parameter fieldSize: The bytes of the `Authorization` field's value, for the message when the server finds it too large.
    public mutating func sent(fieldSize: Int = 0) {
        guard [.idle, .begun, .responding].contains(state) else { return }
        isUnasked = state == .idle
        state = .awaitingResponse
        legs += 1
        self.fieldSize = fieldSize
    }

    /// The security context stands after the token that ``Action/respond(_:)`` or ``Action/verify(_:)`` named.
    public mutating func verified() -> Action {
        switch state {
        case .verifying: return finishUnlessMore(.deliver(.authenticated))
        case .responding:
            return finishUnlessMore(.deliver(.refused("The server proved itself and took the ticket, but does not let this principal in.")))
        case .idle, .begun, .awaitingResponse, .finished: return misuse("verified()")
        }
    }

    /// The token that ``Action/respond(_:)`` or ``Action/verify(_:)`` named accepts the ticket and proves nothing.
    ///
    /// - Parameter status: The status code of the response that carried it.
    public mutating func unproven(status: Int) -> Action {
        switch state {
        case .verifying:
            guard mutualAuthentication == .required else { return finishUnlessMore(.deliver(.authenticated)) }
            let message =
                "The server answered \(status) and accepted the ticket without proving that it is the service asked for. "
                + NegotiateExchange.optionalProofAdvice
            return finishUnlessMore(.fail(AuthorizationError(.mutualAuthenticationFailed, message)))
        case .responding:
            return finishUnlessMore(.deliver(.refused("The server accepted the ticket, but does not let this principal in.")))
        case .idle, .begun, .awaitingResponse, .finished: return misuse("unproven(status:)")
        }
    }

    /// The extension does not handle the request: the 401 is the caller's.
    public mutating func declined() -> Action {
        guard state == .begun else { return misuse("declined()") }
        return finishUnlessMore(.deliver(.unauthenticated))
    }
}

extension NegotiateExchange {
    private func first(status: Int, _ fieldValues: [String]) -> Action {
        guard status == 401 else { return .deliver(.unauthenticated) }
        switch NegotiateChallenge.find(in: fieldValues) {
        case .absent: return .deliver(.unauthenticated)
        case .found(let challenge) where challenge.token == nil: return .begin
        // No ticket was sent, so the 401 tells the caller nothing that it may not know; another scheme of it may serve.
        case .found: return unanswerable("its first challenge carries a token, and no exchange has begun that the token could belong to")
        case .malformed(let clause): return unanswerable(clause)
        }
    }

    private func unanswerable(_ clause: String) -> Action {
        .deliver(.refused("The server's Negotiate challenge cannot be answered: \(clause). Report it to the server's administrator."))
    }

    private func challenged(_ fieldValues: [String]) -> Action {
        switch NegotiateChallenge.find(in: fieldValues) {
        case .malformed(let clause): return invalid(clause)
        case .absent: return .deliver(.refused(refusal(fieldValues)))
        case .found(let challenge):
            guard let token = challenge.token else {
                return .deliver(.refused("The server did not take the ticket. Its keytab, clock or access rules are the place to look."))
            }
            guard legs < maximumLegs else {
                let message = "The server asked for another token after \(legs) requests. Its Negotiate set-up is the place to look."
                return .fail(AuthorizationError(.tooManyLegs, message))
            }
            return .respond(token)
        }
    }

    private func final(status: Int, _ fieldValues: [String]) -> Action {
        guard mutualAuthentication != .off else { return .deliver(.authenticated) }
        switch NegotiateChallenge.find(in: fieldValues) {
        case .malformed(let clause): return invalid(clause)
        case .found(let challenge):
            if let token = challenge.token { return .verify(token) }
            return withoutToken(status: status)
        case .absent: return withoutToken(status: status)
        }
    }

    private func withoutToken(status: Int) -> Action {
        if status == 431 || (status == 400 || status == 413) && fieldSize > NegotiateExchange.usualFieldLimit {
            let message =
                "The server answered \(status): the ticket makes a header field of \(fieldSize) bytes, more than it takes. "
                + "Raise its limit (LimitRequestFieldSize in Apache, large_client_header_buffers in nginx)."
            return .fail(AuthorizationError(.tokenTooLarge, message))
        }
        // A page for everybody: the server had no reason to look at the token, and proves nothing with or without it.
        guard !isUnasked else { return .deliver(.unauthenticated) }
        guard mutualAuthentication == .required else { return .deliver(.authenticated) }
        let message =
            "The server answered \(status) without the token that proves that it is the service asked for; "
            + "a proxy may have dropped the token. \(NegotiateExchange.optionalProofAdvice)"
        return .fail(AuthorizationError(.mutualAuthenticationFailed, message))
    }

    private func refusal(_ fieldValues: [String]) -> String {
        let schemes = AuthenticationChallenge.parse(fieldValues).prefix(4).map { String($0.scheme.prefix(40)) }
        guard !schemes.isEmpty else { return "The server did not take the ticket and offers nothing else." }
        return "The server did not take the ticket and now asks for \(schemes.joined(separator: ", ")), which is not answered."
    }

    private func invalid(_ clause: String) -> Action {
        .fail(
            AuthorizationError(.invalidResponse, "The server's answer can't be used: \(clause). Report it to the server's administrator.")
        )
    }

    private mutating func misuse(_ call: String) -> Action {
        state = .finished
        return .fail(
            AuthorizationError(.failed, "\(call) was called out of turn. Do what the last action says first; use one exchange a request.")
        )
    }

    private mutating func finishUnlessMore(_ action: Action) -> Action {
        switch action {
        case .begin: state = .begun
        case .respond: state = .responding
        case .verify: state = .verifying
        case .deliver, .fail: state = .finished
        }
        return action
    }
}

/// What authentication came to for one response.
public struct NegotiationReport: Sendable, Hashable {
    /// Whether Negotiate was used, and with what result.
    public let delivery: NegotiateExchange.Delivery
    /// Who answered whom; nil where nobody did.
    public let identity: AuthorizationIdentity?
    /// Whether the ticket was bound to the server's TLS certificate. Whether the server looked at it, only the server knows.
    public let isChannelBound: Bool
    /// Whether the user's own ticket went to the server.
    public let isDelegated: Bool

    /// Makes a report.
    public init(
        delivery: NegotiateExchange.Delivery,
        identity: AuthorizationIdentity? = nil,
        isChannelBound: Bool = false,
        isDelegated: Bool = false
    ) {
        self.delivery = delivery
        self.identity = identity
        self.isChannelBound = isChannelBound
        self.isDelegated = isDelegated
    }
}
