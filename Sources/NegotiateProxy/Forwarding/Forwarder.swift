internal import HTTPNegotiate
internal import NIOCore
internal import SignOnPolicy

/// Forwards the requests of one client, and answers origins that ask for a ticket.
struct Forwarder: Sendable {
    enum Outcome: Sendable {
        /// The client may send another request.
        case keepsConnection
        case closesConnection
        /// The connection was upgraded, and its bytes are relayed.
        case relays
    }

    let client: MessageStream
    /// The client's user. Only the proxy's own user gets tickets of origins.
    let user: UInt32
    let context: ProxyContext
    let connections = OutgoingConnections()

    /// Forwards one request and its response.
    ///
    /// - Parameters:
    ///   - framing: The framing of the body, which the client's stream is about to read.
    ///   - site: The address in the browser if it is not the origin's (reverse mode).
    /// - Throws: ``ProxyFailure`` or ``MessageProblem`` for a page; ``ResponseAborted`` if the response has begun; otherwise the client is
    ///   gone.
    func forward(_ head: RequestHead, _ framing: BodyFraming, to origin: Origin, path: String, site: LocalSite? = nil) async throws
        -> Outcome
    {
        let hasBody = framing != .none && framing != .length(0)
        let client = client
        let request = try ForwardRequest(
            head,
            to: origin,
            path: path,
            body: hasBody ? RequestBody(framing, from: client, isAwaited: head.expectsContinue) : nil,
            passesProxyAuthorization: context.configuration.passesProxyAuthorization
        )
        let transport = ForwardTransport(
            context: context,
            connections: connections,
            connector: OriginConnector(context: context, dialer: Dialer(context: context, eventLoop: client.channel.eventLoop, user: user))
        ) { interim in
            guard head.minorVersion == 1 else { return }
            var interim = interim
            try interim.removeFraming()
            try await client.writeInterim(interim.bytes)
        }
        let refusal = OriginCredentials.refusal(of: head, by: user, to: origin)
        do {
            do {
                let result = try await call(transport, refusal).run(request)
                return try await deliver(result, to: head, refusal, site)
            } catch let route as UncoveredRoute {
                let result = try await call(transport, route.refusal).run(request)
                return try await deliver(result, to: head, route.refusal, site)
            }
        } catch let error as AuthorizationError {
            throw ProxyFailure(error, origin: origin)
        } catch let error as HTTPTransportError {
            throw ProxyFailure(502, error.message)
        }
    }

    /// A call that answers the origin, or gets no tickets for a reason.
    private func call(_ transport: ForwardTransport, _ refusal: String?) -> NegotiatingCall<ForwardTransport> {
        var settings = CallSettings(NegotiationOptions(), unboundTLS: .refused)
        settings.options.maximumRedirects = 0
        settings.options.maximumReplayableBody = context.limits.replayableBody
        settings.options.isUserInterfaceEnabled = context.mayPrompt(for: user)
        return NegotiatingCall(
            credentialExtension: OriginCredentials(credentials: context.credentials, refusal: refusal),
            settings: settings,
            transport: transport,
            memory: context.memory
        )
    }

    /// Sends the response to the client while it arrives.
    private func deliver(
        _ result: NegotiatingCall<ForwardTransport>.Result,
        to request: RequestHead,
        _ refusal: String?,
        _ site: LocalSite?
    ) async throws -> Outcome {
        let (response, sent) = (result.response, result.hops[0].request)
        if response.head.status == 101 { return try await upgrade(response, sent, site) }
        let framing: BodyFraming
        let keepsConnection: Bool
        let endsWithConnection: Bool
        var bytes: ByteBuffer
        do {
            framing = try response.head.framing(to: request.method)
            let isRequestComplete = await client.isBodyComplete
            let reason = reason(for: result, refusal)
            if let reason { context.note(ProxyFailure(401, reason), host: "\(sent.origin.host):\(sent.origin.port)") }
            let outgoing = DeliveredHead(response, framing, to: request, reason: reason)
            endsWithConnection = outgoing.endsWithConnection
            keepsConnection = request.keepsConnection && isRequestComplete && !endsWithConnection && !context.activity.isStopping
            var head = try outgoing.head(isAuthenticated: result.report.delivery == .authenticated, keepsConnection: keepsConnection)
            site?.translate(response: &head.fields)
            bytes = ByteBuffer(bytes: head.bytes)
        } catch {
            response.connection.stream.close()
            throw ProxyFailure(response: error, from: response.connection.name(sent.origin.description))
        }
        do {
            let isChunked = framing.isChunked(for: request)
            while true {
                let part: MessageStream.BodyPart
                if let received = try await response.connection.stream.receivedPart() {
                    part = received
                } else {
                    if bytes.readableBytes > 0 { try await client.write(bytes) }
                    bytes = ByteBuffer()
                    part = try await response.connection.part()
                }
                bytes.append(part, isChunked: isChunked)
                if case .end = part { break }
                if bytes.readableBytes >= Self.writeSize {
                    try await client.write(bytes)
                    bytes = ByteBuffer()
                }
            }
            if bytes.readableBytes > 0 { try await client.write(bytes) }
        } catch {
            response.connection.stream.close()
            await response.connection.finish()
            throw ResponseAborted(cause: error, endsWithConnection: endsWithConnection)
        }
        await response.finish()
        let isRequestComplete = await client.isBodyComplete
        return keepsConnection && isRequestComplete ? .keepsConnection : .closesConnection
    }

    private static let writeSize = 65_536

    /// Why a covered origin's challenge is not answered or its ticket is not accepted; nil for another response.
    private func reason(for result: NegotiatingCall<ForwardTransport>.Result, _ refusal: String?) -> String? {
        let request = result.hops[0].request
        if let refusal = refusal ?? result.response.refusal {
            let isWanted = result.response.asksForTicket && !request.hasField("Authorization") && context.covers(request.url)
            return isWanted ? refusal : nil
        }
        guard case .refused(let reason) = result.report.delivery else { return nil }
        return reason
    }

    /// Changes both connections to another protocol (RFC 9110 section 7.8).
    private func upgrade(_ response: ForwardResponse, _ request: ForwardRequest, _ site: LocalSite?) async throws -> Outcome {
        guard request.upgrade != nil, let value = response.head.fields["Upgrade"].first else {
            response.connection.stream.close()
            throw ProxyFailure(
                response: MessageProblem("it changes the protocol without being asked"),
                from: response.connection.name(request.origin.description)
            )
        }
        var head = response.head
        do throws(MessageProblem) { try head.removeFraming() } catch {
            throw ProxyFailure(response: error, from: response.connection.name(request.origin.description))
        }
        head.fields.add("Connection", "Upgrade")
        head.fields.add("Upgrade", value)
        site?.translate(response: &head.fields)
        try await client.write(head.bytes)
        context.activity.noteTunnel(client.channel)
        let server = response.connection.takeStream()
        do {
            try await TunnelRelay.start(client: client, server: server, idleTime: context.idleTime)
        } catch {
            server.close()
            throw ResponseAborted(cause: error)
        }
        return .relays
    }
}

/// A response that cannot be completed after its head was sent. Only the end of the connection can tell the client.
struct ResponseAborted: Error {
    let cause: any Error
    /// Whether the end of the connection would be the end of the response.
    var endsWithConnection = false
}

/// The head of a response as the client gets it.
private struct DeliveredHead {
    private let received: ResponseHead
    private let framing: BodyFraming
    private let request: RequestHead
    private let isDirect: Bool
    /// Why the client gets a 401.
    private let reason: String?

    init(_ response: ForwardResponse, _ framing: BodyFraming, to request: RequestHead, reason: String?) {
        received = response.head
        isDirect = response.connection.route == .direct
        self.framing = framing
        self.request = request
        self.reason = reason
    }

    /// Whether the client finds the end of the body only by the end of the connection.
    var endsWithConnection: Bool { request.minorVersion == 0 && (framing == .chunked || framing == .untilClose) }

    /// - Parameter isAuthenticated: Whether the origin accepted the proxy's ticket.
    func head(isAuthenticated: Bool, keepsConnection: Bool) throws(MessageProblem) -> ResponseHead {
        var head = received
        let asksForPassword = received.status == 407 ? received.fields.values("Proxy-Authenticate") : []
        try HopByHop.remove(from: &head.fields)
        for value in asksForPassword { head.fields.add(HeadFields.Field("Proxy-Authenticate", value)) }
        if received.status == 204 { head.fields.remove("Content-Length") }
        if framing.isChunked(for: request) { head.fields.add("Transfer-Encoding", "chunked") }
        if isAuthenticated, received.status != 401 {
            // They are about the connection of the proxy.
            head.fields.remove(["www-authenticate", "persistent-auth"])
        }
        if let reason { head.fields.add(ProxyFailure.fieldName, ProxyFailure(401, reason).fieldText) }
        if received.status == 401 { addSupport(to: &head.fields) }
        head.fields.add("Via", "1.\(received.minorVersion) \(ProxyContext.publicName)")
        if !keepsConnection {
            head.fields.add("Connection", "close")
        } else if request.minorVersion == 0 {
            head.fields.add("Connection", "keep-alive")
        }
        return head
    }

    /// Says that the client's connection has a connection of its own to the origin (RFC 4559 section 6), which an upstream proxy must say
    /// for itself.
    private func addSupport(to fields: inout HeadFields) {
        // An upstream proxy may nominate its field as one for this connection only.
        fields.remove("Proxy-Support")
        let values = isDirect ? ["Session-Based-Authentication"] : received.fields["Proxy-Support"]
        for value in values { fields.add("Proxy-Support", value) }
    }
}

extension ResponseHead {
    /// Removes what is for one connection only, and the length of a body, from an interim response, which has none.
    fileprivate mutating func removeFraming() throws(MessageProblem) {
        try HopByHop.remove(from: &fields)
        fields.remove("Content-Length")
    }
}

extension BodyFraming {
    /// Whether the client gets the body in the chunked transfer coding.
    fileprivate func isChunked(for request: RequestHead) -> Bool {
        request.minorVersion == 1 && (self == .chunked || self == .untilClose)
    }
}

extension ByteBuffer {
    /// Appends a part of a body.
    fileprivate mutating func append(_ part: MessageStream.BodyPart, isChunked: Bool) {
        if isChunked {
            writeImmutableBuffer(part.chunk)
        } else if case .content(let content) = part {
            writeImmutableBuffer(content)
        }
    }
}

extension ProxyFailure {
    /// The failure of an exchange with an origin.
    fileprivate init(_ error: AuthorizationError, origin: Origin) {
        switch error.code {
        case .bodyNotReplayable:
            self.init(
                502,
                "\(origin) asked for a ticket after the request's body was sent, which cannot be sent again. Repeat the request: the "
                    + "body will wait longer for the challenge. If that fails too, list the host in PreemptiveHosts of the profile."
            )
        default: self.init(502, error.message)
        }
    }
}
