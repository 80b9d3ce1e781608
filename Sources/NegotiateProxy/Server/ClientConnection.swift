internal import NIOCore
internal import SignOnPolicy

/// Serves one client's connection: its requests one after another, until it closes or becomes a tunnel.
struct ClientConnection: Sendable {
    private let stream: MessageStream
    private let context: ProxyContext

    init(_ stream: MessageStream, _ context: ProxyContext) {
        self.stream = stream
        self.context = context
    }

    /// Returns when the connection has closed, or is a tunnel, which needs no task.
    func serve() async {
        let user: UInt32
        do throws(ProxyFailure) { user = try await admittedUser() } catch { return await refuse(error) }
        // Other users cannot take the last quarter of the places.
        let limit = user == PeerUser.own ? context.limits.clients : context.limits.clients * 3 / 4
        guard context.activity.add(stream.channel, limit: limit) else {
            return await refuse(ProxyFailure(503, "The proxy has \(limit) clients, which is its limit. Close some."))
        }
        let forwarder = Forwarder(client: stream, user: user, context: context)
        // A client that is gone needs no answer, and its request must not go on.
        await withTaskGroup { group in
            group.addTask { await serveRequests(forwarder) }
            group.addTask { await stream.waitUntilGone() }
            _ = await group.next()
            group.cancelAll()
        }
    }

    private func serveRequests(_ forwarder: Forwarder) async {
        defer { forwarder.connections.closeAll() }
        while true {
            switch await serveRequest(forwarder) {
            case .keepsConnection: continue
            case .relays: return
            case .closesConnection: return await stream.closeAfterLastWrite()
            case nil: return stream.close()
            }
        }
    }

    /// The client's user.
    ///
    /// - Throws: Why that user may not use the proxy.
    private func admittedUser() async throws(ProxyFailure) -> UInt32 {
        guard let user = await PeerUser.userID(of: stream.channel) else {
            throw ProxyFailure(403, "The user of this connection is unknown, so the proxy does not serve it. Connect from this machine.")
        }
        guard !context.configuration.users.contains(user) else { return user }
        throw ProxyFailure(
            403,
            "This proxy belongs to another user of this machine, and uses that user's tickets. User \(user) must start a proxy of their own, "
                + "at another port: ksso proxy run --listen 127.0.0.1:0"
        )
    }

    /// Sends a page with the reason; if many connections are being refused, closes this one without a page.
    private func refuse(_ failure: ProxyFailure) async {
        guard context.activity.addRefused(stream.channel) else { return stream.close() }
        if context.activity.mayNoteRefusal() { context.note(failure, host: nil) }
        try? await stream.write(failure.response(keepsConnection: false))
        await stream.closeAfterLastWrite(within: .seconds(1))
    }

    /// Serves the next request; nil if the connection must close at once.
    private func serveRequest(_ forwarder: Forwarder) async -> Forwarder.Outcome? {
        var (host, hasBody, mayContinue) = (String?.none, true, false)
        do {
            guard context.activity.awaitsRequest(stream.channel),
                let bytes = try await stream.head(maximumSize: context.limits.headSize)
            else { return nil }
            context.activity.noteRequest(stream.channel)
            let head = try HeadParser.request(bytes)
            hasBody = head.method != "HEAD"
            guard !context.ownConnections.isClient(of: stream.channel) else {
                throw ProxyFailure(508, "The request has come back to this proxy, which connects to itself. Connect to another server.")
            }
            // What follows a refused CONNECT may be meant for the tunnel.
            mayContinue = head.method != "CONNECT"
            return try await answer(head, forwarder) { host = $0 }
        } catch let problem as MessageProblem {
            return await answer(ProxyFailure(request: problem), host: host, hasBody: hasBody, mayContinue: false)
        } catch let failure as ProxyFailure {
            // The client may answer a challenge on the same connection.
            if !failure.challenges.isEmpty { mayContinue = await stream.isIdle }
            let isComplete = await stream.isBodyComplete
            return await answer(failure, host: host, hasBody: hasBody, mayContinue: mayContinue && isComplete)
        } catch let aborted as ResponseAborted where aborted.endsWithConnection {
            stream.reset()
            return nil
        } catch {
            return nil
        }
    }

    private func answer(_ received: RequestHead, _ forwarder: Forwarder, _ names: (String) -> Void) async throws -> Forwarder.Outcome {
        var head = received
        // Also after an error page, the next request begins behind this one's body.
        let framing = try head.framing()
        await stream.beginBody(framing)
        guard head.method != "TRACE" else {
            throw ProxyFailure(405, "The proxy does not forward TRACE, because its response could contain a ticket.")
        }
        if head.method == "OPTIONS", let hops = try head.forwards() {
            guard hops > 0 else { return try await answerOptions(head) }
            head.fields.replace("Max-Forwards", "\(hops - 1)")
        }
        guard !head.fields["Via"].contains(where: { $0.contains(context.name) }) else {
            throw ProxyFailure(508, "The request has come back to this proxy. Check that it is not configured as its own upstream proxy.")
        }
        if let destination = context.configuration.destination {
            names("\(destination.origin.host):\(destination.origin.port)")
            let socket = stream.channel.localAddress.flatMap { TCPSocketName($0) }
            let (site, path) = try LocalSite.read(head, at: socket, for: destination.origin)
            return try await forwarder.forward(site.request(head), framing, to: destination.origin, path: path, site: site)
        }
        switch try RequestTarget(head) {
        case .tunnel(let host, let port):
            names("\(host):\(port)")
            guard framing == .none || framing == .length(0) else { throw MessageProblem("CONNECT has a body") }
            return try await openTunnel(to: host, port: port, head, forwarder.user)
        case .resource(let origin, let path):
            names("\(origin.host):\(origin.port)")
            return try await forwarder.forward(head, framing, to: origin, path: path)
        }
    }

    /// Answers OPTIONS as the last recipient (RFC 9110 section 7.6.2).
    private func answerOptions(_ request: RequestHead) async throws -> Forwarder.Outcome {
        let isComplete = await stream.isBodyComplete
        let keepsConnection = request.keepsConnection && isComplete && !context.activity.isStopping
        var head = ResponseHead(status: 200, reason: "OK")
        head.fields.add("Content-Length", "0")
        if !keepsConnection { head.fields.add("Connection", "close") }
        try await stream.write(head.bytes)
        return keepsConnection ? .keepsConnection : .closesConnection
    }

    private func openTunnel(to host: String, port: Int, _ head: RequestHead, _ user: UInt32) async throws -> Forwarder.Outcome {
        let dialer = Dialer(context: context, eventLoop: stream.channel.eventLoop, user: user)
        let opener = TunnelOpener(context: context, dialer: dialer)
        let server = try await opener.open(to: host, port: port, for: head)
        do {
            try await stream.write(Array("HTTP/1.1 200 Connection established\r\n\r\n".utf8))
            context.activity.noteTunnel(stream.channel)
            try await TunnelRelay.start(client: stream, server: server.takeStream(), idleTime: context.idleTime)
        } catch {
            server.stream.close()
            throw ResponseAborted(cause: error)
        }
        return .relays
    }

    /// Sends an error page.
    private func answer(_ failure: ProxyFailure, host: String?, hasBody: Bool, mayContinue: Bool) async -> Forwarder.Outcome? {
        context.note(failure, host: host)
        let keepsConnection = mayContinue && !context.activity.isStopping
        do {
            try await stream.write(failure.response(keepsConnection: keepsConnection, hasBody: hasBody))
            return keepsConnection ? .keepsConnection : .closesConnection
        } catch {
            return nil
        }
    }
}

extension RequestHead {
    /// How many more recipients may forward the request; nil if that is not limited.
    fileprivate func forwards() throws(MessageProblem) -> Int? {
        let values = fields["Max-Forwards"]
        guard let value = values.first else { return nil }
        guard values.count == 1, value.utf8.allSatisfy(\.isDigitByte), let number = Int(value) else {
            throw MessageProblem("its Max-Forwards is not a number")
        }
        return number
    }
}
