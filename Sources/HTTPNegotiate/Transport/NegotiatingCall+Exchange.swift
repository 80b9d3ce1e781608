internal import HTTPTypes

extension NegotiatingCall {
    /// A ticket for a request, and how it is to travel.
    struct Attempt {
        let target: Target
        var grant: AuthorizationGrant
        /// As it stands before the first token goes out.
        let exchange: NegotiateExchange
        var channelBindings: [UInt8]?
        var isMultiplexed: Bool

        var fieldSize: Int { grant.headers[.authorization]?.utf8.count ?? 0 }
    }

    /// How often one request gets a new context because its connection was not the one expected.
    static var maximumAttempts: Int { 3 }

    /// Over HTTP/2 servers take less: Apache 64 KiB for a field with its name, whatever its LimitRequestFieldSize.
    private static var maximumMultiplexedFieldSize: Int { 60_000 }

    /// Sends the request with a token. A connection that turns out to be another than expected gets a new security context.
    func authenticate(_ first: Attempt) async throws -> Answer {
        var attempt = first
        for number in 1...Self.maximumAttempts {
            if attempt.fieldSize > Self.maximumMultiplexedFieldSize { attempt.isMultiplexed = false }
            do {
                return try await run(attempt)
            } catch let change as ConnectionChange {
                switch change {
                case .connection: break
                case .certificate(let bindings): attempt.channelBindings = attempt.target.bindsChannel ? bindings : nil
                case .protocolVersion: attempt.isMultiplexed = false
                }
            }
            guard number < Self.maximumAttempts,
                let grant = try await grant(for: attempt.target, channelBindings: attempt.channelBindings)
            else { break }
            attempt.grant = grant
        }
        let message = "\(attempt.target.origin) changed its connection or certificate during each of several attempts. Try again."
        throw AuthorizationError(.failed, message)
    }

    /// The legs with our tokens, all over one connection.
    private func run(_ attempt: Attempt) async throws -> Answer {
        let target = attempt.target
        let identity = target.connectionIdentity(attempt.grant.identity, channelBindings: attempt.channelBindings)
        let connection = try transport.connection(for: identity, isMultiplexed: attempt.isMultiplexed)
        var (exchange, request, fields) = (attempt.exchange, target.request, attempt.grant.headers)
        while true {
            request.replace(with: fields)
            let response = try await transport.send(request, over: connection, to: target.origin)
            exchange.sent(fieldSize: fields[.authorization]?.utf8.count ?? 0)
            let action = exchange.receive(status: response.statusCode, challenges: response.fieldValues("WWW-Authenticate"))
            switch try await perform(action, &exchange, attempt.grant.exchange, origin: target.origin) {
            case .send(let next):
                await response.drain()
                // Legs belong to one connection, and streams of a multiplexed one can't be told apart by the server.
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

    /// Does what the state machine says about a response.
    private func perform(
        _ action: NegotiateExchange.Action,
        _ exchange: inout NegotiateExchange,
        _ context: any AuthorizationExchange,
        origin: Origin
    ) async throws(AuthorizationError) -> Step {
        switch action {
        case .respond(let token):
            do throws(AuthorizationError) {
                switch try await context.respond(to: token) {
                case .send(let fields): return .send(fields)
                case .established: return .deliver(try exchange.verified().delivery(from: origin))
                }
            } catch {
                // A refusal that says why is the caller's 401, as it is from a server that refuses without a word.
                guard error.code == .refusedByServer else { throw error }
                return .deliver(.refused(error.message))
            }
        case .verify(let token):
            guard case .established = try await context.respond(to: token) else {
                let message = "\(origin) answered before the exchange was complete. Report it to its administrator."
                throw AuthorizationError(.invalidResponse, message)
            }
            return .deliver(try exchange.verified().delivery(from: origin))
        default: return .deliver(try action.delivery(from: origin))
        }
    }

    /// The server took the ticket: its connection may serve the same identity again, and it is remembered.
    private func settle(_ response: Transport.Response, _ attempt: Attempt, _ connection: Transport.Connection) {
        let claim = response.fieldValues("Persistent-Auth").contains { $0.asciiLowercased == "true" }
        // Over HTTP/2 the claim is not to be trusted: the next stream is asked again.
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
