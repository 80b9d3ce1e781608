internal import HTTPTypes
internal import SignOnPolicy

extension NegotiatingCall {
    /// A token for a request, and the kind of connection to send it over.
    struct Attempt {
        let target: Target
        var grant: AuthorizationGrant
        /// The exchange in its state before the first token is sent.
        let exchange: NegotiateExchange
        var channelBindings: [UInt8]?
        var isMultiplexed: Bool

        /// The request with its first token.
        var request: Transport.Request {
            var request = target.request
            request.replace(with: grant.headers)
            return request
        }
    }

    /// How many attempts one request gets if its connection is not the expected one.
    static var maximumAttempts: Int { 3 }

    /// Sends the request with a token. If the connection is not the expected one, retries with a new security context.
    func authenticate(_ first: Attempt) async throws -> Answer {
        var attempt = first
        var mayReplaceTicket = true
        var failure: HTTPTransportError?
        for number in 1...Self.maximumAttempts {
            if attempt.isMultiplexed { attempt.isMultiplexed = transport.fitsMultiplexed(attempt.request) }
            do {
                let answer = try await run(attempt)
                guard mayReplaceTicket, number < Self.maximumAttempts, let grant = await grant(afterRefusal: answer, of: attempt) else {
                    return answer
                }
                mayReplaceTicket = false
                await answer.response.drain()
                attempt.grant = grant
                continue
            } catch let error as HTTPTransportError {
                throw error.suspectingSize(of: attempt.request)
            } catch let change as ConnectionChange {
                failure = nil
                switch change {
                case .connection: break
                case .unanswered(let error): failure = error
                case .certificate(let bindings): attempt.channelBindings = attempt.target.bindsChannel ? bindings : nil
                case .protocolVersion: attempt.isMultiplexed = false
                }
            }
            guard number < Self.maximumAttempts,
                let grant = try await grant(for: attempt.target, channelBindings: attempt.channelBindings)
            else { break }
            attempt.grant = grant
        }
        if let failure { throw failure.suspectingSize(of: attempt.request) }
        let message = "\(attempt.target.origin) changed its connection or certificate during each of several attempts. Try again."
        throw AuthorizationError(.failed, message)
    }

    /// A grant from another ticket, if the server rejected the token and a new ticket is available, because the server's key may be newer
    /// than the ticket. Nil delivers the rejection to the caller.
    private func grant(afterRefusal answer: Answer, of attempt: Attempt) async -> AuthorizationGrant? {
        guard case .refused = answer.report.delivery, await attempt.grant.exchange.replaceRefusedTicket() else { return nil }
        return try? await grant(for: attempt.target, channelBindings: attempt.channelBindings)
    }

    /// Performs all legs over one connection.
    private func run(_ attempt: Attempt) async throws -> Answer {
        let target = attempt.target
        let identity = target.connectionIdentity(attempt.grant.identity, channelBindings: attempt.channelBindings)
        let connection = try transport.connection(for: identity, isMultiplexed: attempt.isMultiplexed)
        var (exchange, request, fields) = (attempt.exchange, target.request, attempt.grant.headers)
        while true {
            request.replace(with: fields)
            let response = try await observing(request, token: attempt.grant.identity) {
                try await transport.send($0, over: connection, to: target.origin)
            }
            exchange.sent(fieldSize: fields[.authorization]?.utf8.count ?? 0)
            let action = exchange.receive(status: response.statusCode, challenges: response.fieldValues("WWW-Authenticate"))
            switch try await perform(action, &exchange, attempt.grant.exchange, of: response, origin: target.origin) {
            case .send(let next):
                await response.drain()
                // The legs belong to one connection, and on a multiplexed one the server cannot tell the streams apart.
                guard !attempt.isMultiplexed else { throw ConnectionChange.protocolVersion }
                fields = next
            case .deliver(let delivery):
                if delivery == .authenticated { settle(response, attempt, connection) }
                let report = NegotiationReport(
                    delivery: delivery,
                    identity: attempt.grant.identity,
                    isChannelBound: attempt.channelBindings != nil,
                    isDelegated: attempt.grant.exchange.isDelegated
                )
                return Answer(response: response, report: report)
            }
        }
    }

    private enum Step {
        case send(HTTPFields)
        case deliver(NegotiateExchange.Delivery)
    }

    /// Performs an action of the state machine.
    private func perform(
        _ action: NegotiateExchange.Action,
        _ exchange: inout NegotiateExchange,
        _ context: any AuthorizationExchange,
        of response: Transport.Response,
        origin: Origin
    ) async throws(AuthorizationError) -> Step {
        let token: [UInt8]
        switch action {
        case .respond(let bytes), .verify(let bytes): token = bytes
        default: return .deliver(try action.delivery(from: origin))
        }
        let step: AuthorizationExchangeStep
        do throws(AuthorizationError) {
            step = try await context.respond(to: token)
        } catch {
            switch error.code {
            case .mutualAuthenticationFailed:
                return .deliver(try exchange.unproven(status: response.statusCode).delivery(from: origin))
            // A 401 whose token gives a reason is delivered to the caller, like a 401 without one.
            case .refusedByServer where response.statusCode == 401: return .deliver(.refused(error.message))
            default: throw error
            }
        }
        switch step {
        case .established: return .deliver(try exchange.verified().delivery(from: origin))
        case .send(let fields):
            if case .respond = action { return .send(fields) }
            let message = "\(origin) responded before the exchange was complete. Report it to its administrator."
            throw AuthorizationError(.invalidResponse, message)
        }
    }

    /// Keeps the connection for the same identity and remembers the origin, after the server accepted the ticket.
    private func settle(_ response: Transport.Response, _ attempt: Attempt, _ connection: Transport.Connection) {
        let claim = response.fieldValues("Persistent-Auth").contains { $0.asciiLowercased == "true" }
        // Over HTTP/2 the claim is not reliable: the next stream is challenged again.
        let isConnectionBound = claim && !attempt.isMultiplexed
        connection.keep(isAuthenticated: isConnectionBound)
        let entry = OriginMemory.Entry(
            channelBindings: attempt.channelBindings,
            isMultiplexed: response.isMultiplexed,
            isConnectionBound: isConnectionBound
        )
        memory.learn(entry, of: attempt.target.origin)
    }
}

extension NegotiatingCall {
    /// The longest `Authorization` field that is sent: a token of 64 KiB in base64.
    private static var maximumFieldSize: Int { "Negotiate ".utf8.count + (NegotiateChallenge.maximumTokenSize + 2) / 3 * 4 }

    /// Returns the ready grant if it fits, or a new one from the extension; nil if the extension does not handle the request.
    func grant(
        for target: Target,
        channelBindings: [UInt8]?,
        ready: ReadyGrant? = nil
    ) async throws(AuthorizationError) -> AuthorizationGrant? {
        if let ready, ready.answers(channelBindings: channelBindings) { return ready.grant }
        try checkBindings(channelBindings, for: target)
        let authorization = request(for: target, channelBindings: channelBindings)
        guard case .headers(let grant) = try await credentialExtension.beginAuthorization(with: authorization) else { return nil }
        let size = Self.fieldSize(grant)
        guard size <= Self.maximumFieldSize else {
            let message =
                "The ticket for \(grant.servicePrincipal) makes a header field of \(size) bytes, which is more than any server accepts. "
                + "Reduce its authorization data, such as group memberships."
            throw AuthorizationError(.tokenTooLarge, message)
        }
        return grant
    }

    /// A grant that the extension can create at once, for a server that will probably challenge; nil to wait for the challenge.
    func readyGrant(for target: Target, channelBindings: [UInt8]?) async -> ReadyGrant? {
        guard (try? checkBindings(channelBindings, for: target)) != nil,
            let grant = await credentialExtension.readyGrant(for: request(for: target, channelBindings: channelBindings)),
            Self.fieldSize(grant) <= Self.maximumFieldSize
        else { return nil }
        return ReadyGrant(grant, channelBindings: channelBindings)
    }

    private static func fieldSize(_ grant: AuthorizationGrant) -> Int { grant.headers[.authorization]?.utf8.count ?? 0 }

    /// Throws if a ticket must be bound and cannot be. The peer chooses its certificate, so it could choose one without bindings.
    private func checkBindings(_ channelBindings: [UInt8]?, for target: Target) throws(AuthorizationError) {
        guard target.bindsChannel, channelBindings == nil, settings.unboundTLS == .refused else { return }
        let message =
            transport.showsCertificates
            ? "\(target.origin) asks for a ticket, but the ticket cannot be bound to its certificate (RFC 5929 defines no hash "
                + "for the signature). "
                + "Give the server a certificate signed with SHA-256, or list the host in NoChannelBindingHosts."
            : "\(target.origin) asks for a ticket, but this client cannot bind it to the server's certificate. "
                + "Allow tickets without channel bindings, list the host in NoChannelBindingHosts, or use a client that exposes "
                + "certificates."
        throw AuthorizationError(.channelBindingsUnavailable, message)
    }

    func request(for target: Target, channelBindings: [UInt8]?) -> AuthorizationRequest {
        var request = AuthorizationRequest(
            url: target.url,
            headers: target.request.fields,
            principal: settings.options.principal,
            isUserInterfaceEnabled: settings.options.isUserInterfaceEnabled,
            channelBindings: channelBindings,
            mutualAuthentication: settings.options.mutualAuthentication
        )
        request.plan = target.plan
        return request
    }
}

/// A grant that was created before the server challenged.
package struct ReadyGrant: Sendable {
    package let grant: AuthorizationGrant
    /// The channel bindings of its token.
    private let channelBindings: [UInt8]?
    private let madeAt: ContinuousClock.Instant

    /// After this time a slow server gets a new token, because a token contains the time, and a sign-out must take effect.
    private static let longestWait = Duration.seconds(1)

    package init(_ grant: AuthorizationGrant, channelBindings: [UInt8]?, madeAt: ContinuousClock.Instant = .now) {
        self.grant = grant
        self.channelBindings = channelBindings
        self.madeAt = madeAt
    }

    /// Whether the grant can answer a challenge that arrives now, over a connection with these channel bindings.
    package func answers(channelBindings: [UInt8]?, now: ContinuousClock.Instant = .now) -> Bool {
        channelBindings == self.channelBindings && now - madeAt <= Self.longestWait
    }
}
