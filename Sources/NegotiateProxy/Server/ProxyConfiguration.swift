/// Where a ``LocalProxy`` listens, who may use it, and its limits.
package struct ProxyConfiguration: Sendable {
    package enum Listener: Sendable, Hashable {
        /// A loopback address; port 0 lets the kernel choose.
        case tcp(host: String, port: Int)
        /// The path of a Unix socket, which is created and removed by the proxy.
        case unix(path: String)
        /// A socket that already listens, from systemd: on a loopback address or a Unix socket.
        case descriptor(Int32)
    }

    package var listeners: [Listener]
    /// The web server that gets all requests (reverse mode); nil for a forward proxy, whose clients name the server.
    package var destination: ReverseDestination?
    /// The users who may use the proxy.
    package var users: Set<UInt32>
    /// Whether a client's `Proxy-Authorization` is forwarded to an upstream proxy that gets no ticket.
    package var passesProxyAuthorization = false
    /// Whether the user may be prompted, for example to sign in.
    package var isUserInterfaceEnabled = false
    package var limits = Limits()

    package init(listeners: [Listener], users: Set<UInt32>) {
        self.listeners = listeners
        self.users = users
    }

    package struct Limits: Sendable {
        /// The size of a head in bytes.
        package var headSize = 65_536
        /// The size of a request body that is held in memory so that it can be sent again.
        package var replayableBody = 65_536
        package var clients = 4096
        package var connectTime = Duration.seconds(15)
        /// How long all connection attempts of one request may take together.
        package var dialTime = Duration.seconds(60)
        /// How long a connection may transfer nothing.
        package var idleTime = Duration.seconds(300)
        /// How long an upstream proxy or an origin has for the head of its response.
        package var responseTime = Duration.seconds(300)
        /// How long an upstream proxy has for the first response to CONNECT, if there is another route.
        package var failoverTime = Duration.seconds(30)
        /// How long to wait for 100 (Continue) before a body is sent without it.
        package var continueTime = Duration.seconds(1)
        /// The same, if the web server challenged too late before and the request has no ticket.
        package var lateContinueTime = Duration.seconds(10)
        /// How long open requests and tunnels have when the proxy stops.
        package var gracePeriod = Duration.seconds(3)

        package init() {}
    }
}
