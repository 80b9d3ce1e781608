internal import HTTPNegotiate
internal import NIOCore
internal import SignOnPolicy

/// Sends the requests of one client to origins, for `NegotiatingCall`. Answers an upstream proxy on the way.
struct ForwardTransport: NegotiateTransport {
    let context: ProxyContext
    let connections: OutgoingConnections
    let connector: OriginConnector
    /// Called with interim responses (1xx) for the client, except 100.
    let interim: @Sendable (ResponseHead) async throws -> Void

    var showsCertificates: Bool { true }

    func sendWithoutCredentials(_ request: ForwardRequest, to origin: Origin) async throws -> ForwardResponse {
        // A client that has authenticated itself continues on the same connection.
        if let own = connections.take(.own(origin)) {
            return try await send(request, ForwardConnection(own, purpose: .own(origin)))
        }
        return try await send(request, ForwardConnection(connections.take(.plain(origin)), purpose: .plain(origin)))
    }

    func sendWithOwnCredentials(_ request: ForwardRequest, to origin: Origin) async throws -> ForwardResponse {
        try await send(request, ForwardConnection(connections.take(.own(origin)), purpose: .own(origin)))
    }

    func connection(for identity: ConnectionIdentity, isMultiplexed: Bool) throws -> ForwardConnection {
        ForwardConnection(connections.take(.ticket(identity)), purpose: nil, identity: identity)
    }

    func authenticatedConnection(for identity: ConnectionIdentity) throws -> ForwardConnection? {
        guard let connection = connections.take(.authenticated(identity)) else { return nil }
        return ForwardConnection(connection, purpose: nil, identity: identity, isUsed: true)
    }

    func send(_ request: ForwardRequest, over connection: ForwardConnection, to origin: Origin) async throws -> ForwardResponse {
        try await send(request, connection)
    }

    /// Sends over the connection of an exchange, or over a new one.
    private func send(_ request: ForwardRequest, _ holder: ForwardConnection) async throws -> ForwardResponse {
        let (former, isReplaceable, isKept) = holder.begin()
        let routes = isReplaceable || isKept ? try await connector.dialer.routes(to: request.routeTarget) : []
        var mayUse = await former?.stream.isIdle ?? false
        if mayUse, isKept, let former { mayUse = try await fits(former, routes, request) }
        if let former, mayUse {
            do {
                return try await send(request, over: former, holder)
            } catch let error as ConnectionLost where former.hasServed && request.isRepeatable {
                guard isReplaceable else { throw ConnectionChange.connection }
                throw ConnectionChange.unanswered(HTTPTransportError(.connectionClosed, error.failure.message))
            } catch let error as ConnectionLost {
                throw error.failure
            }
        }
        former?.stream.close()
        guard isReplaceable else { throw ConnectionChange.connection }
        var attempts = RouteAttempts(routes, to: request.routeTarget, connector.dialer)
        while true {
            let connection = try await connector.connect(for: request, by: &attempts)
            if let identity = holder.identity, identity.bindsChannel, connection.channelBindings != identity.channelBindings {
                connection.stream.close()
                throw ConnectionChange.certificate(connection.channelBindings)
            }
            do {
                return try await send(request, over: connection, holder)
            } catch let error as ConnectionLost {
                guard case .upstream(let server) = connection.route, error.isClosed, !connection.hasServed else { throw error.failure }
                guard attempts.hasNext, request.isRepeatable else {
                    await connector.dialer.report(server, isEstablished: false)
                    throw error.failure
                }
                await attempts.leave(server, error.failure)
            }
        }
    }

    /// Whether a connection of an earlier request is the one that this request would get: by the same route, and for the same user of
    /// an upstream proxy.
    private func fits(_ connection: OutgoingConnection, _ routes: [ProxyRoute], _ request: ForwardRequest) async throws -> Bool {
        guard connection.dialedRoute == routes.first else { return false }
        guard case .upstream(let server) = connection.dialedRoute else { return true }
        let client = request.proxyAuthorization.flatMap { context.passesProxyAuthorization(to: server) ? Self.proxyUser($0) : nil }
        switch connection.proxyUser {
        case .none: return true
        case .ticket(let identity): return try await context.identity(at: server) == identity
        // Behind the exchange of a scheme that is bound to the connection, requests have no field.
        case .client(let credentials): return client == .client(credentials) || client == nil && !credentials.contains(" ")
        }
    }

    private static func proxyUser(_ value: String) -> OutgoingConnection.ProxyUser {
        let scheme = value.prefix { $0 != " " }.lowercased()
        return .client(["ntlm", "negotiate"].contains(scheme) ? scheme : "\(value) ")
    }

    /// Sends over a connection, and answers an upstream proxy.
    private func send(_ request: ForwardRequest, over first: OutgoingConnection, _ holder: ForwardConnection) async throws
        -> ForwardResponse
    {
        guard case .upstream(let server) = first.route else {
            let time = continueTime(for: request, mayBeRepeated: request.mayBeRepeated, holder)
            let head = try await exchange(request, over: first, continueTime: time, proxyAuthorization: nil)
            guard head.status != Challenger.proxy.status else {
                first.stream.close()
                throw ProxyFailure(502, "\(request.origin) answered 407, which only a proxy may answer. Report it to its administrator.")
            }
            return ForwardResponse(head: head, connection: first, holder: holder, connections: connections)
        }
        guard holder.identity == nil || context.covers(server) else {
            first.stream.close()
            throw UncoveredRoute(server: server)
        }
        var authentication = UpstreamAuthentication(server, context, client: connector.dialer.user, opensTunnel: false)
        if authentication.isCovered { try await request.body?.buffer(upTo: context.limits.replayableBody) }
        let time = continueTime(for: request, mayBeRepeated: request.mayBeRepeated || authentication.isCovered, holder)
        let passes = context.passesProxyAuthorization(to: server)
        var (connection, value) = (first, passes ? request.proxyAuthorization : nil)
        if let value { connection.proxyUser = Self.proxyUser(value) }
        while true {
            let head = try await exchange(request, over: connection, continueTime: time, proxyAuthorization: value)
            let step: UpstreamAuthentication.Step
            do { step = try await authentication.receive(head) } catch {
                connection.stream.close()
                throw error
            }
            switch step {
            case .deliver:
                if let identity = authentication.identity { connection.proxyUser = .ticket(identity) }
                var response = ForwardResponse(head: head, connection: connection, holder: holder, connections: connections)
                response.refusal = Self.refusal(of: head, by: server, isCovered: authentication.isCovered)
                return response
            case .unanswered(let reason):
                if passes {
                    return ForwardResponse(head: head, connection: connection, holder: holder, connections: connections)
                }
                connection.stream.close()
                throw ProxyFailure(unanswered: reason, by: server)
            case .send(let next, let onSameConnection):
                let isUsable = await connection.drain()
                guard request.isReplayable else {
                    throw ProxyFailure(
                        502,
                        "The proxy \(server) asks for a ticket, but the request's body was sent already. Repeat the request."
                    )
                }
                guard isUsable || !onSameConnection else {
                    throw ProxyFailure(502, "The proxy \(server) closed the connection in the middle of an exchange. Try again.")
                }
                if !isUsable { connection = try await connector.dialer.connect(by: connection.route, to: request.routeTarget) }
                value = next
            }
        }
    }

    /// Why a 401 that came through an upstream proxy is not answered; nil if it may be.
    ///
    /// The proxy gets the ticket, and could send requests of other clients over the connection that the ticket opens.
    private static func refusal(of head: ResponseHead, by server: ProxyServer, isCovered: Bool) -> String? {
        guard head.status == Challenger.origin.status else { return nil }
        guard isCovered else { return UncoveredRoute(server: server).refusal }
        guard !head.fields.tokens("Proxy-Support").contains("session-based-authentication") else { return nil }
        return "The proxy \(server) does not say that it keeps a connection to the web server for each client "
            + "(Proxy-Support: Session-Based-Authentication). Ask its administrator, or list the host in NoProxy."
    }

    /// How long the body waits for 100 (Continue) or a challenge; nil if it is in memory or may be sent at once.
    private func continueTime(for request: ForwardRequest, mayBeRepeated: Bool, _ holder: ForwardConnection) -> Duration? {
        guard let body = request.body, body.whole == nil, mayBeRepeated || body.isAwaited else { return nil }
        // A request with a ticket is not challenged again.
        let mayBeChallenged = holder.identity == nil && context.memory.challengesLate(request.origin)
        return mayBeChallenged ? context.limits.lateContinueTime : context.limits.continueTime
    }

    /// Sends one request over one connection.
    private func exchange(
        _ request: ForwardRequest,
        over connection: OutgoingConnection,
        continueTime: Duration?,
        proxyAuthorization: String?
    ) async throws -> ResponseHead {
        let head = request.head(
            by: connection.route,
            via: context.name(for: connection.route, to: request.origin),
            expectsContinue: continueTime != nil,
            proxyAuthorization: proxyAuthorization
        )
        let isNew = !connection.hasServed
        do {
            let response = try await connection.send(head, body: request.body, continueTime: continueTime) { head in
                if head.status != 100 { try await interim(head) }
            }
            if isNew, case .upstream(let server) = connection.route { await connector.dialer.report(server, isEstablished: true) }
            return response
        } catch let error as CancellationError {
            connection.stream.close()
            throw error
        } catch {
            connection.stream.close()
            // The body goes to no other connection while it may still go to this one.
            await connection.finish()
            throw ConnectionLost(error, ProxyFailure(exchange: error, with: connection.name(request.origin.description)))
        }
    }
}

/// A connection that failed before the head of a response arrived.
struct ConnectionLost: Error {
    let failure: ProxyFailure
    /// Whether the other end closed it.
    let isClosed: Bool
    let isTimeout: Bool

    init(_ error: any Error, _ failure: ProxyFailure) {
        self.failure = failure
        isClosed = error is StreamClosed || error is IOError || error is ChannelError
        isTimeout = error is StreamTimeout
    }
}

/// A response whose body has not been read.
struct ForwardResponse: NegotiableResponse {
    let head: ResponseHead
    let connection: OutgoingConnection
    let holder: ForwardConnection
    let connections: OutgoingConnections
    /// Why the challenge is not answered, whatever the profile says; nil if it may be.
    var refusal: String?

    var statusCode: Int { head.status }
    var isMultiplexed: Bool { false }
    var channelBindings: [UInt8]? { connection.channelBindings }

    /// Without a challenge that is not answered.
    func fieldValues(_ name: String) -> [String] { refusal == nil ? head.fields[name] : [] }

    /// Whether the origin asks for a ticket.
    var asksForTicket: Bool {
        head.status == Challenger.origin.status
            && AuthenticationChallenge.parse(head.fields["WWW-Authenticate"]).contains { $0.scheme.asciiLowercasedText == "negotiate" }
    }

    func drain() async { await keep(await connection.drain()) }

    /// Ends the exchange after the body was read: the connection is kept or closed.
    func finish() async { await keep(await connection.finish()) }

    private func keep(_ isUsable: Bool) async {
        guard isUsable else { return }
        if let purpose = holder.purpose {
            await connections.put(connection, for: purpose)
        } else {
            holder.put(connection)
        }
    }
}

extension ProxyFailure {
    /// The failure of a request that was sent.
    ///
    /// - Parameter sender: The origin or the upstream proxy, as text.
    init(exchange error: any Error, with sender: String) {
        switch error {
        case let failure as ProxyFailure: self = failure
        case let problem as MessageProblem: self.init(response: problem, from: sender)
        case is StreamTimeout: self.init(504, "No response of \(sender) came in time. Check that it works, or try again.")
        case let error as IOError:
            self.init(
                502,
                "The connection to \(sender) failed: \(SystemError.text(error.errnoCode)). Try again, or check the server's log."
            )
        default:
            self.init(502, "The connection to \(sender) closed before its response was complete. Try again, or check the server's log.")
        }
    }
}
