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
        let place = ProxyServer(host: host, port: port).description
        let target = RouteTarget(url: "https://\(place)/", host: host, port: port)
        let first = try await dialer.connect(to: target)
        guard case .upstream(let server) = first.route else { return first }
        var authentication = UpstreamAuthentication(server, context, opensTunnel: true)
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
                response = try await connection.send(head, body: nil, awaitsContinue: false)
                step = try await authentication.receive(response)
            } catch {
                connection.stream.close()
                throw ProxyFailure(exchange: error, with: "the proxy \(server)")
            }
            switch step {
            case .deliver where 200..<300 ~= response.status: return connection
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
