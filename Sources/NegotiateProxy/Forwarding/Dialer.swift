internal import NIOCore
internal import NIOPosix
internal import Synchronization

#if canImport(Glibc)
    internal import Glibc
#elseif canImport(Musl)
    internal import Musl
#endif

/// Connects to origins, directly or through upstream proxies, for one request.
struct Dialer: Sendable {
    let context: ProxyContext
    /// The loop of the client's connection, so that a tunnel needs no other.
    let eventLoop: any EventLoop
    /// The client's user.
    let user: UInt32
    private let budget: DialBudget

    init(context: ProxyContext, eventLoop: any EventLoop, user: UInt32) {
        self.context = context
        self.eventLoop = eventLoop
        self.user = user
        budget = DialBudget(context.limits.dialTime)
    }

    /// The routes to a target, best first.
    ///
    /// - Throws: ``ProxyFailure``.
    func routes(to target: RouteTarget) async throws -> [ProxyRoute] {
        do throws(RoutingError) { return try await context.routes.routes(to: target) } catch { throw ProxyFailure(502, error.message) }
    }

    /// Connects by a route. A failure of an upstream proxy is reported; that it works is known only after its first response.
    func connect(by route: ProxyRoute, to target: RouteTarget) async throws -> OutgoingConnection {
        guard budget.rest > .zero else {
            throw ProxyFailure(504, "No route accepted a connection in time. Check that the proxies of the routes run: ksso proxy status")
        }
        guard case .upstream(let server) = route else { return try await connect(target.host, target.port, route) }
        do {
            return try await connect(server.host, server.port, route)
        } catch let failure as ProxyFailure {
            await report(server, isEstablished: false)
            throw failure
        }
    }

    /// Reports whether an upstream proxy works.
    func report(_ server: ProxyServer, isEstablished: Bool) async {
        context.activity.note(server, isReachable: isEstablished)
        await context.routes.connectionEnded(to: server, isEstablished: isEstablished)
    }

    private func connect(_ host: String, _ port: Int, _ route: ProxyRoute) async throws -> OutgoingConnection {
        let idleTime = context.idleTime
        let (limit, start) = (min(budget.rest, context.limits.connectTime), ContinuousClock.now)
        defer { budget.spend(ContinuousClock.now - start) }
        let bootstrap = ClientBootstrap(group: eventLoop)
            .connectTimeout(TimeAmount(limit))
            .resolver(DialResolver(names: context.names, eventLoop: eventLoop))
            .channelOption(.autoRead, value: false)
            .channelOption(.allowRemoteHalfClosure, value: true)
            // A server that vanished is noticed before the idle time ends.
            .channelOption(.socketOption(.so_keepalive), value: 1)
            .channelOption(.tcpOption(NIOBSDSocket.Option(rawValue: TCP_KEEPIDLE)), value: 60)
        do {
            let prepare: @Sendable (any Channel) -> EventLoopFuture<MessageStream> = { channel in
                channel.eventLoop.makeCompletedFuture { try MessageStream(channel, idleTime: idleTime) }
            }
            let stream: MessageStream
            if let address = try? SocketAddress(ipAddress: host, port: port) {
                stream = try await bootstrap.connect(to: address, channelInitializer: prepare)
            } else {
                stream = try await bootstrap.connect(host: host, port: port, channelInitializer: prepare)
            }
            try check(stream, host, route)
            return OutgoingConnection(stream, route: route, limits: context.limits)
        } catch let error where error is CancellationError || error is ProxyFailure {
            throw error
        } catch {
            throw ProxyFailure(dialing: host, port, route, error)
        }
    }
}

extension Dialer {
    /// Servers on this machine would take another user's connection for one of the proxy's user.
    private func check(_ stream: MessageStream, _ host: String, _ route: ProxyRoute) throws(ProxyFailure) {
        guard stream.channel.leadsToThisMachine else { return }
        context.ownConnections.add(stream.channel)
        guard route == .direct, user != PeerUser.own else { return }
        stream.close()
        throw ProxyFailure(
            403,
            "User \(user) cannot connect to this machine through this proxy, which belongs to another user. Connect to \(host) directly, "
                + "for example with no_proxy=\(host)"
        )
    }
}

/// The time that is left for the connection attempts of one request, whose routes a PAC file chooses.
private final class DialBudget: Sendable {
    private let time: Mutex<Duration>

    init(_ time: Duration) { self.time = Mutex(time) }

    var rest: Duration { time.withLock { $0 } }

    func spend(_ duration: Duration) { time.withLock { $0 -= duration } }
}

extension ProxyFailure {
    /// The failure of a connection attempt.
    fileprivate init(dialing host: String, _ port: Int, _ route: ProxyRoute, _ error: any Error) {
        let place = (host.contains(":") ? "[\(host)]" : host) + ":\(port)"
        let (isUpstream, subject) = if case .upstream = route { (true, "The proxy \(place)") } else { (false, place) }
        let attempt = error as? NIOConnectionError
        if let attempt, attempt.connectionErrors.isEmpty, attempt.dnsAError != nil || attempt.dnsAAAAError != nil {
            self.init(502, "No address was found for \(host). Check the host's name, and whether the network or the VPN is connected.")
            return
        }
        let cause = attempt?.connectionErrors.last?.error ?? error
        switch cause {
        case ChannelError.connectTimeout:
            self.init(504, "\(subject) did not accept a connection in time. Check that it is reachable from this machine.")
        case let error as IOError where error.errnoCode == SystemError.connectionRefused:
            let advice =
                isUpstream ? "Check that it runs and that the port is right." : "Check that the server runs and that the port is right."
            self.init(502, "\(subject) refuses connections. \(advice)")
        case let error as IOError:
            self.init(502, "\(subject) cannot be reached: \(SystemError.text(error.errnoCode)). Check the network and the address.")
        default:
            self.init(502, "\(subject) cannot be reached: \(cause). Check the network and the address.")
        }
    }
}
