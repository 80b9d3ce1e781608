internal import HTTPNegotiate
internal import NIOCore
internal import Synchronization

/// A connection to an origin or to an upstream proxy. It belongs to one client connection and carries one request at a time.
final class OutgoingConnection: Sendable {
    private struct State {
        /// Sends a request's body while the response may arrive already.
        var sending: Task<Void, any Error>?
        var isBodySent = true
        /// Whether a streamed body is still wanted: until the head of the final response.
        var mayStartBody = false
        var hasServed = false
        var keepsConnection = false
        var isTunnel = false
        var proxyUser = ProxyUser.none
    }

    /// Whom an upstream proxy takes the connection for, since it may accept later requests for that user.
    enum ProxyUser: Sendable, Hashable {
        case none
        /// The identity of a ticket.
        case ticket(AuthorizationIdentity)
        /// The client's own credentials: the value of `Proxy-Authorization`, or the name of a scheme that is bound to the connection.
        case client(String)
    }

    let stream: MessageStream
    /// Who reads the requests.
    let route: ProxyRoute
    /// How the connection was made: the route of the tunnel in which TLS runs, or ``route``.
    let dialedRoute: ProxyRoute
    /// The channel bindings of the server's certificate (RFC 5929); nil without TLS, and for a certificate without any.
    let channelBindings: [UInt8]?
    private let limits: ProxyConfiguration.Limits
    private let state = Mutex(State())

    /// - Parameter tunnel: The connection whose stream this one uses.
    init(
        _ stream: MessageStream,
        route: ProxyRoute,
        tunnel: OutgoingConnection? = nil,
        limits: ProxyConfiguration.Limits,
        channelBindings: [UInt8]? = nil
    ) {
        self.stream = stream
        self.route = route
        dialedRoute = tunnel?.route ?? route
        self.limits = limits
        self.channelBindings = channelBindings
        if let tunnel { proxyUser = tunnel.proxyUser }
    }

    /// A connection that its exchange has lost is of no further use.
    deinit {
        let (sending, isTunnel) = state.withLock { ($0.sending, $0.isTunnel) }
        sending?.cancel()
        if !isTunnel { stream.close() }
    }

    /// Returns the stream, which from now on is used for another protocol, and not closed with this object.
    func takeStream() -> MessageStream {
        state.withLock { $0.isTunnel = true }
        return stream
    }

    /// Whether a response has arrived, so that the server may close the connection at any time.
    var hasServed: Bool { state.withLock { $0.hasServed } }

    /// Whom the upstream proxy takes the connection for.
    var proxyUser: ProxyUser {
        get { state.withLock { $0.proxyUser } }
        set { state.withLock { $0.proxyUser = newValue } }
    }

    /// The upstream proxy's or the origin's name in messages.
    func name(_ origin: String) -> String {
        if case .upstream(let server) = route { "the proxy \(server)" } else { origin }
    }

    /// Sends a request, and returns the head of the final response. Then ``part()`` returns its body.
    ///
    /// - Parameters:
    ///   - continueTime: How long a streamed body waits for 100 (Continue); nil if it does not wait.
    ///   - limit: How long to wait for the head if that is less than for every response.
    ///   - interim: Called with interim responses (1xx).
    func send(
        _ head: RequestHead,
        body: RequestBody?,
        continueTime: Duration?,
        within limit: Duration? = nil,
        interim: (ResponseHead) async throws -> Void = { _ in }
    ) async throws -> ResponseHead {
        var bytes = ByteBuffer(bytes: head.bytes)
        state.withLock { $0.keepsConnection = false }
        guard let body, body.whole == nil else {
            for part in body?.whole ?? [] { bytes.writeImmutableBuffer(body?.coded(part) ?? ByteBuffer()) }
            try await stream.write(bytes)
            return try await final(to: head.method, within: limit, start: nil, interim)
        }
        guard body.isReplayable else { throw RequestBody.wasSent }
        try await stream.write(bytes)
        let start = stream.channel.eventLoop.makePromise(of: Bool.self)
        let timer = stream.channel.eventLoop.scheduleTask(in: continueTime.map { TimeAmount($0) } ?? .zero) {
            start.succeed(true)
        }
        defer {
            timer.cancel()
            start.succeed(false)
            state.withLock { $0.mayStartBody = false }
        }
        begin(sending: body, when: start.futureResult)
        return try await final(to: head.method, within: limit, start: start, interim)
    }

    private func begin(sending body: RequestBody, when start: EventLoopFuture<Bool>) {
        let stream = stream
        state.withLock { state in
            state.isBodySent = false
            state.mayStartBody = true
        }
        // Not with a reference to this object: an exchange that has lost it ends the task.
        let task = Task { [weak self] in
            guard try await start.get() else { return }
            do {
                // From here on, the body cannot be sent again; after the final head, it is not sent at all.
                guard try body.claim(if: { self?.state.withLock { $0.mayStartBody } ?? false }) else { return }
                try await body.permit()
                try await body.stream { try await stream.write($0) }
                self?.state.withLock { $0.isBodySent = true }
            } catch {
                // Without its body the server would wait for the rest of the request.
                if !(error is CancellationError) { stream.close() }
                throw error
            }
        }
        state.withLock { $0.sending = task }
    }

    /// Reads heads up to the final one.
    private func final(
        to method: String,
        within limit: Duration?,
        start: EventLoopPromise<Bool>?,
        _ interim: (ResponseHead) async throws -> Void
    ) async throws -> ResponseHead {
        let time = TimeAmount(limit.map { min($0, limits.responseTime) } ?? limits.responseTime)
        for _ in 0..<Self.maximumInterim {
            guard let bytes = try await stream.head(maximumSize: limits.headSize, within: time) else {
                throw StreamClosed()
            }
            let head = try HeadParser.response(bytes)
            if head.isInterim {
                if head.status == 100 { start?.succeed(true) }
                try await interim(head)
                continue
            }
            let isTunnel = method == "CONNECT" && 200..<300 ~= head.status
            let framing = isTunnel ? .none : try head.framing(to: method)
            await stream.beginBody(framing)
            state.withLock { state in
                state.hasServed = true
                state.keepsConnection = head.keepsConnection && framing != .untilClose && head.status != 101
            }
            return head
        }
        throw MessageProblem("it has too many interim responses")
    }

    private static let maximumInterim = 32

    /// The next part of the response's body.
    func part() async throws -> MessageStream.BodyPart { try await stream.bodyPart() }

    /// Ends a request after its response: stops sending the body if the server did not want all of it.
    ///
    /// - Returns: Whether the connection can carry another request. Otherwise it is closed.
    @discardableResult
    func finish() async -> Bool {
        let (sending, isBodySent) = state.withLock { ($0.sending, $0.isBodySent) }
        if let sending {
            if !isBodySent { sending.cancel() }
            _ = await sending.result
        }
        let keepsConnection = state.withLock { state in
            state.sending = nil
            return state.keepsConnection && state.isBodySent
        }
        guard keepsConnection, await stream.isIdle else {
            stream.close()
            return false
        }
        return true
    }

    /// Reads and drops the response's body, so that the connection can be used again. Closes it if the body is long.
    ///
    /// - Returns: Whether the connection can carry another request.
    @discardableResult
    func drain() async -> Bool {
        // A server that is about to close may wait for this end before it completes the body.
        guard state.withLock({ $0.keepsConnection && $0.isBodySent }) else { return await finish() }
        var remaining = Self.maximumDrain
        do {
            while case .content(let bytes) = try await part() {
                remaining -= bytes.readableBytes
                guard remaining >= 0 else { break }
            }
        } catch {
            // The connection is closed below, because the body is not complete.
        }
        return await finish()
    }

    private static let maximumDrain = 65_536
}
