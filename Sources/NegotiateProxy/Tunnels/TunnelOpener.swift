internal import NIOCore

/// Opens the connection of a tunnel: to the host itself, or through an upstream proxy.
struct TunnelOpener: Sendable {
    let context: ProxyContext
    let dialer: Dialer

    /// Returns a connection on which the tunnel's bytes can be sent.
    ///
    /// - Parameter request: The client's CONNECT.
    /// - Throws: ``ProxyFailure``.
    func open(to host: String, port: Int, for request: RequestHead) async throws -> OutgoingConnection {
        let target = RouteTarget(tunnelTo: host, port: port)
        var attempts = RouteAttempts(try await dialer.routes(to: target), to: target, dialer)
        return try await open(to: target, for: request, by: &attempts)
    }

    /// Returns a connection by the first of these routes whose upstream proxy answers.
    func open(to target: RouteTarget, for request: RequestHead, by attempts: inout RouteAttempts) async throws -> OutgoingConnection {
        while true {
            let connection = try await attempts.connect()
            guard case .upstream(let server) = connection.route else { return connection }
            do {
                let limit = attempts.hasNext ? context.limits.failoverTime : nil
                return try await open(to: target, for: request, over: connection, server, within: limit)
            } catch let error as ConnectionLost {
                // The proxy may still be connecting to a target that does not answer, which says nothing about the proxy.
                if error.isTimeout { attempts.skip(error.failure) } else { await attempts.leave(server, error.failure) }
            }
        }
    }

    private func open(
        to target: RouteTarget,
        for request: RequestHead,
        over first: OutgoingConnection,
        _ server: ProxyServer,
        within limit: Duration?
    ) async throws -> OutgoingConnection {
        let place = ProxyServer(host: target.host, port: target.port).description
        var authentication = UpstreamAuthentication(server, context, client: dialer.user, opensTunnel: true)
        var connection = first
        let passes = context.passesProxyAuthorization(to: server)
        var head = Self.head(place, for: request, passes: passes)
        // Also those of the client's own proxies, which find a loop by them.
        for value in request.fields.values("Via") { head.fields.add(HeadFields.Field("Via", value)) }
        head.fields.add("Via", "1.1 \(context.name)")
        while true {
            let response: ResponseHead
            let step: UpstreamAuthentication.Step
            do {
                let isFirst = !first.hasServed
                response = try await connection.send(head, body: nil, continueTime: nil, within: isFirst ? limit : nil)
                if isFirst { await dialer.report(server, isEstablished: true) }
                step = try await authentication.receive(response)
            } catch {
                connection.stream.close()
                guard !(error is CancellationError) else { throw error }
                let lost = ConnectionLost(error, ProxyFailure(exchange: error, with: "the proxy \(server)"))
                guard !first.hasServed, lost.isClosed || lost.isTimeout else { throw lost.failure }
                throw lost
            }
            switch step {
            case .deliver where 200..<300 ~= response.status:
                if let identity = authentication.identity { connection.proxyUser = .ticket(identity) }
                return connection
            case .deliver:
                connection.stream.close()
                throw ProxyFailure(tunnel: response, to: place, by: server)
            case .unanswered(let reason):
                connection.stream.close()
                guard passes else { throw ProxyFailure(unanswered: reason, by: server) }
                throw ProxyFailure(407, "The proxy \(server): \(reason)", challenges: response.fields["Proxy-Authenticate"])
            case .send(let value, let onSameConnection):
                let isUsable = await connection.drain()
                guard isUsable || !onSameConnection else {
                    throw ProxyFailure(502, "The proxy \(server) closed the connection in the middle of an exchange. Try again.")
                }
                if !isUsable { connection = try await dialer.connect(by: connection.route, to: target) }
                head.fields.replace("Proxy-Authorization", value)
            }
        }
    }

    private static func head(_ place: String, for request: RequestHead, passes: Bool) -> RequestHead {
        var head = RequestHead(method: "CONNECT", target: place)
        head.fields.add("Host", place)
        for name in ["User-Agent"] + (passes ? ["Proxy-Authorization"] : []) {
            if let value = request.fields[name].first { head.fields.add(name, value) }
        }
        return head
    }
}

extension ProxyFailure {
    /// The refusal of a tunnel by an upstream proxy.
    fileprivate init(tunnel response: ResponseHead, to place: String, by server: ProxyServer) {
        let status = 400..<600 ~= response.status && response.status != 401 ? response.status : 502
        let reason = response.reason.isEmpty ? "" : " \(response.reason.prefix(100))"
        self.init(status, "The proxy \(server) refuses the tunnel to \(place): \(response.status)\(reason). Ask its administrator.")
    }
}
