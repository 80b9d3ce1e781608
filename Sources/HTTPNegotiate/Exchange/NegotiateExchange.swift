public import SignOnPolicy

/// The state machine of one request that may be challenged. It has no clock and no I/O, and the number of its steps is bounded.
///
/// Pass it each response's status and `WWW-Authenticate` lines, and perform the action that it returns:
///
/// ```swift
/// var exchange = NegotiateExchange()
/// switch exchange.receive(status: 401, challenges: ["Negotiate"]) {
/// case .begin: break        // ask a CredentialExtension, send the request again with its headers, then exchange.sent()
/// default: break
/// }
/// ```
///
/// An exchange with an origin server handles only 401, and one with a proxy only 407: a ticket for one is not for the other. For a proxy,
/// pass it the `Proxy-Authenticate` lines, and for a final response also those of `Proxy-Authentication-Info`:
///
/// ```swift
/// var exchange = NegotiateExchange(challenger: .proxy, opensTunnel: true)          // a CONNECT
/// let action = exchange.receive(status: 407, challenges: ["Negotiate"])            // .begin
/// ```
public struct NegotiateExchange: Sendable {
    /// What the caller must do next.
    public enum Action: Sendable, Hashable {
        /// Deliver the response to the caller; the exchange is over.
        case deliver(Delivery)
        /// Ask the extension. Then send its headers and call ``NegotiateExchange/sent(fieldSize:)``, or call
        /// ``NegotiateExchange/declined()``.
        case begin
        /// Pass the token to the authorization exchange. For a further leg, send its headers and call
        /// ``NegotiateExchange/sent(fieldSize:)``; when the context is established, call ``NegotiateExchange/verified()``.
        case respond([UInt8])
        /// Pass the final token to the authorization exchange, and call ``NegotiateExchange/verified()`` when the context is established. A
        /// further leg is an error here.
        case verify([UInt8])
        /// Drop the response and throw the error; the exchange is over.
        case fail(AuthorizationError)
    }

    /// The result of authentication for a delivered response.
    public enum Delivery: Sendable, Hashable {
        /// Negotiate was not used.
        case unauthenticated
        /// The server accepted the ticket and authenticated itself as required.
        case authenticated
        /// The server rejected the ticket, or its challenge cannot be answered; the text says why. The 401 (407) goes to the caller.
        case refused(String)
    }

    /// The advice for a server that never authenticates itself.
    package static let optionalProofAdvice = optionalProofAdvice(for: .origin)

    /// No key of a profile makes the proof of a proxy required; only the caller of the exchange does.
    private static func optionalProofAdvice(for challenger: Challenger) -> String {
        challenger == .proxy
            ? "If this proxy never sends such a proof, do not require mutual authentication from it."
            : "If this server never sends such a proof, list its host in OptionalMutualAuthenticationHosts of the profile."
    }

    /// The header limit of the stricter common servers, in bytes; smaller fields are refused for other reasons.
    package static let usualFieldLimit = 4096

    private enum State: Sendable, Hashable {
        case idle, begun, awaitingResponse, responding, verifying, finished
    }

    /// The sender of the challenge: the origin server or a proxy.
    public let challenger: Challenger
    /// Whether the request is a CONNECT. A proxy's success then needs no proof even if one is required: proxies send none with
    /// `200 Connection established`, and what the tunnel carries is protected from its end to end, by TLS. A token that the proxy does send
    /// must be valid.
    public let opensTunnel: Bool
    /// Whether the request asks an https server for another protocol, such as that of a WebSocket. `101 Switching Protocols` then needs no
    /// proof even if one is required: Apache sends none of its modules' fields with it, and TLS has authenticated the server. A token that
    /// the server does send must be valid.
    public let upgradesOverTLS: Bool
    /// The maximum number of requests with an `Authorization` or `Proxy-Authorization` field.
    public let maximumLegs: Int
    /// Whether the server must authenticate itself.
    public let mutualAuthentication: MutualAuthentication

    private var state = State.idle
    private var legs = 0
    private var fieldSize = 0
    /// Whether the last token was sent before the server asked for one.
    private var isUnasked = false

    /// Creates an exchange for one request.
    ///
    /// - Parameters:
    ///   - challenger: The sender of the challenge: the origin server or a proxy.
    ///   - opensTunnel: Whether the request is a CONNECT; see ``opensTunnel``.
    ///   - upgradesOverTLS: Whether the request asks an https server for another protocol; see ``upgradesOverTLS``.
    ///   - maximumLegs: The maximum number of requests with our field, at least 1; Kerberos needs one.
    ///   - mutualAuthentication: Whether the server must authenticate itself; nil is `required` for an origin server, and `optional` for a
    ///     proxy, because proxies send no proof.
    public init(
        challenger: Challenger = .origin,
        opensTunnel: Bool = false,
        upgradesOverTLS: Bool = false,
        maximumLegs: Int = 4,
        mutualAuthentication: MutualAuthentication? = nil
    ) {
        self.challenger = challenger
        self.opensTunnel = challenger == .proxy && opensTunnel
        self.upgradesOverTLS = challenger == .origin && upgradesOverTLS
        self.maximumLegs = max(maximumLegs, 1)
        self.mutualAuthentication = mutualAuthentication ?? (challenger == .proxy ? .optional : .required)
    }

    /// Evaluates a response.
    ///
    /// - Parameters:
    ///   - status: The status code of a final response, or 101, but not of an interim response (other 1xx).
    ///   - fieldValues: The values of its `WWW-Authenticate` lines, in order; of a proxy, those of `Proxy-Authenticate`, and then those of
    ///     `Proxy-Authentication-Info` unless the status is 407.
    public mutating func receive(status: Int, challenges fieldValues: [String]) -> Action {
        switch state {
        case .idle: return finishUnlessMore(first(status: status, fieldValues))
        case .awaitingResponse:
            return finishUnlessMore(status == challenger.status ? challenged(fieldValues) : final(status: status, fieldValues))
        case .begun, .responding, .verifying, .finished: return misuse("receive(status:challenges:)")
        }
    }

    /// Records that a request with our header was sent. Before any challenge, this is a preemptive request.
    ///
    /// - Parameter fieldSize: The size of our field's value in bytes, for the message if the server finds it too large.
    public mutating func sent(fieldSize: Int = 0) {
        guard [.idle, .begun, .responding].contains(state) else { return }
        isUnasked = state == .idle
        state = .awaitingResponse
        legs += 1
        self.fieldSize = fieldSize
    }

    /// Records that the token of ``Action/respond(_:)`` or ``Action/verify(_:)`` established the security context.
    public mutating func verified() -> Action {
        switch state {
        case .verifying: return finishUnlessMore(.deliver(.authenticated))
        case .responding:
            return finishUnlessMore(
                .deliver(.refused("\(subject) verified its identity and accepted the ticket, but denies access to this principal."))
            )
        case .idle, .begun, .awaitingResponse, .finished: return misuse("verified()")
        }
    }

    /// Records that the token of ``Action/respond(_:)`` or ``Action/verify(_:)`` accepts the ticket without authenticating the server.
    ///
    /// - Parameter status: The status code of the response that contained it.
    public mutating func unproven(status: Int) -> Action {
        switch state {
        case .verifying:
            guard mutualAuthentication == .required else { return finishUnlessMore(.deliver(.authenticated)) }
            let message =
                "\(subject) answered \(status) and accepted the ticket without mutual authentication. "
                + NegotiateExchange.optionalProofAdvice(for: challenger)
            return finishUnlessMore(.fail(AuthorizationError(.mutualAuthenticationFailed, message)))
        case .responding:
            return finishUnlessMore(.deliver(.refused("\(subject) accepted the ticket, but denies access to this principal.")))
        case .idle, .begun, .awaitingResponse, .finished: return misuse("unproven(status:)")
        }
    }

    /// Records that the extension does not handle the request: the 401 (407) goes to the caller.
    public mutating func declined() -> Action {
        guard state == .begun else { return misuse("declined()") }
        return finishUnlessMore(.deliver(.unauthenticated))
    }
}

extension NegotiateExchange {
    /// The challenger at the start of a sentence.
    private var subject: String { "The \(challenger.noun)" }

    private func first(status: Int, _ fieldValues: [String]) -> Action {
        guard status == challenger.status else { return .deliver(.unauthenticated) }
        switch NegotiateChallenge.find(in: fieldValues) {
        case .absent: return .deliver(.unauthenticated)
        case .found(let challenge) where challenge.token == nil: return .begin
        // No ticket was sent, so the caller gets the response: it may support another of its schemes.
        case .found: return unanswerable("its first challenge carries a token, although no exchange has started")
        case .malformed(let clause): return unanswerable(clause)
        }
    }

    private func unanswerable(_ clause: String) -> Action {
        .deliver(.refused("\(subject)'s Negotiate challenge cannot be answered: \(clause). Report it to its administrator."))
    }

    private func challenged(_ fieldValues: [String]) -> Action {
        switch NegotiateChallenge.find(in: fieldValues) {
        case .malformed(let clause): return invalid(clause)
        case .absent: return .deliver(.refused(refusal(fieldValues)))
        case .found(let challenge):
            guard let token = challenge.token else {
                return .deliver(.refused("\(subject) did not accept the ticket. Check its keytab, clock and access rules."))
            }
            guard legs < maximumLegs else {
                let sent = legs == 1 ? "1 request" : "\(legs) requests"
                let message = "\(subject) asked for another token after \(sent). Check its Negotiate configuration."
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
            let limits =
                challenger == .proxy
                ? "request_header_max_size in squid" : "LimitRequestFieldSize in Apache, large_client_header_buffers in nginx"
            let message =
                "\(subject) answered \(status): the ticket makes a header field of \(fieldSize) bytes, which is more than it accepts. "
                + "Raise its limit (\(limits))."
            return .fail(AuthorizationError(.tokenTooLarge, message))
        }
        // A public page: the server had no reason to evaluate the token, and authenticates itself neither with nor without it.
        guard !isUnasked else { return .deliver(.unauthenticated) }
        let mayOmitProof = opensTunnel && 200..<300 ~= status || upgradesOverTLS && status == 101
        guard mutualAuthentication == .required, !mayOmitProof else { return .deliver(.authenticated) }
        let cause = challenger == .proxy ? "." : "; a proxy may have dropped the token."
        let message =
            "\(subject) answered \(status) without the token for mutual authentication\(cause) "
            + NegotiateExchange.optionalProofAdvice(for: challenger)
        return .fail(AuthorizationError(.mutualAuthenticationFailed, message))
    }

    private func refusal(_ fieldValues: [String]) -> String {
        let schemes = AuthenticationChallenge.parse(fieldValues).prefix(4).map { String($0.scheme.prefix(40)) }
        guard !schemes.isEmpty else { return "\(subject) did not accept the ticket and offers no other authentication scheme." }
        return "\(subject) did not accept the ticket and now asks for \(schemes.joined(separator: ", ")), which is not supported."
    }

    private func invalid(_ clause: String) -> Action {
        .fail(
            AuthorizationError(
                .invalidResponse,
                "\(subject)'s response cannot be used: \(clause). Report it to its administrator."
            )
        )
    }

    private mutating func misuse(_ call: String) -> Action {
        state = .finished
        return .fail(
            AuthorizationError(.failed, "\(call) was called out of order. Perform the last action first, and use one exchange per request.")
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

/// The result of authentication for one response.
public struct NegotiationReport: Sendable, Hashable {
    /// Whether Negotiate was used, and with what result.
    public let delivery: NegotiateExchange.Delivery
    /// The client and service principals; nil if Negotiate was not used.
    public let identity: AuthorizationIdentity?
    /// Whether the ticket was bound to the server's TLS certificate. Only the server knows whether it checked the binding.
    public let isChannelBound: Bool
    /// Whether the user's ticket was delegated to the server.
    public let isDelegated: Bool

    /// Creates a report.
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
