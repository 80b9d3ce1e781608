internal import HTTPNegotiate
internal import NIOCore
internal import NIOSSL
internal import NIOTLS
internal import SignOnPolicy
internal import TLSChannelBinding

/// Connects to the origins of requests: with TLS to an https origin, in a tunnel if the route leads through an upstream proxy.
struct OriginConnector: Sendable {
    let context: ProxyContext
    let dialer: Dialer

    /// Returns a connection on which the request can be sent.
    ///
    /// - Parameter attempts: The routes, of which those that fail are left.
    /// - Throws: ``ProxyFailure``.
    func connect(for request: ForwardRequest, by attempts: inout RouteAttempts) async throws -> OutgoingConnection {
        let origin = request.origin
        guard origin.scheme == .https, let tls = context.configuration.destination?.tls else {
            return try await attempts.connect()
        }
        let opening = RequestHead(method: "CONNECT", target: origin.authority, fields: request.received)
        let tunnel = try await TunnelOpener(context: context, dialer: dialer)
            .open(to: request.routeTarget, for: opening, by: &attempts)
        let stream = tunnel.takeStream()
        do {
            let bindings = try await TLSHandshake(stream, tls).run(with: origin.host, within: TimeAmount(context.limits.connectTime))
            // From here on, the origin is the only one to read what is sent.
            return OutgoingConnection(stream, route: .direct, tunnel: tunnel, limits: context.limits, channelBindings: bindings)
        } catch {
            stream.close()
            guard !(error is CancellationError) else { throw error }
            throw ProxyFailure(handshake: error, with: origin)
        }
    }
}

/// The beginning of TLS on a connection.
private struct TLSHandshake {
    private let stream: MessageStream
    private let tls: NIOSSLContext

    init(_ stream: MessageStream, _ tls: NIOSSLContext) {
        self.stream = stream
        self.tls = tls
    }

    /// Verifies the server's certificate.
    ///
    /// - Returns: The channel bindings of the certificate; nil if it has none.
    func run(with host: String, within limit: TimeAmount) async throws -> [UInt8]? {
        let (channel, handler) = (stream.channel, stream.handler)
        let bindings = channel.eventLoop.makePromise(of: [UInt8]?.self)
        let timeout = channel.eventLoop.scheduleTask(in: limit) { bindings.fail(StreamTimeout()) }
        defer { timeout.cancel() }
        let tls = tls
        try await channel.eventLoop.submit {
            guard handler.value.received.readableBytes == 0 else { throw MessageProblem("it sends data before TLS begins") }
            guard channel.isActive, !handler.value.isInputClosed else { throw StreamClosed() }
            let watch = HandshakeWatch(bindings)
            try channel.pipeline.syncOperations.addHandler(watch, position: .first)
            let client = try NIOSSLClientHandler(context: tls, serverHostname: host)
            try channel.pipeline.syncOperations.addHandler(client, position: .first)
            // The rest of the handshake is read by the handler itself.
            channel.read()
        }.flatMapErrorThrowing {
            bindings.fail($0)
            throw $0
        }.get()
        return try await withTaskCancellationHandler {
            try await bindings.futureResult.get()
        } onCancel: {
            bindings.fail(CancellationError())
        }
    }
}

/// Completes a promise with the result of a handshake.
private final class HandshakeWatch: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = ByteBuffer

    private let bindings: EventLoopPromise<[UInt8]?>

    init(_ bindings: EventLoopPromise<[UInt8]?>) { self.bindings = bindings }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if case .handshakeCompleted? = event as? TLSUserEvent {
            let handler = try? context.pipeline.syncOperations.handler(type: NIOSSLClientHandler.self)
            let certificate = try? handler?.peerCertificate?.toDERBytes()
            bindings.succeed(certificate.flatMap { try? TLSServerEndPoint(certificate: $0).applicationData })
            context.pipeline.syncOperations.removeHandler(context: context, promise: nil)
        }
        context.fireUserInboundEventTriggered(event)
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        bindings.fail(error)
        context.fireErrorCaught(error)
    }

    /// Also if the connection closes; after a success this has no effect.
    func handlerRemoved(context: ChannelHandlerContext) { bindings.fail(StreamClosed()) }
}

extension ProxyFailure {
    /// The failure of a handshake.
    fileprivate init(handshake error: any Error, with origin: Origin) {
        switch error {
        case let problem as MessageProblem: self.init(response: problem, from: origin.description)
        case is StreamTimeout, is StreamClosed, is IOError: self.init(exchange: error, with: origin.description)
        default:
            let failure = HTTPTransportError(tls: error, origin: origin)
            // A sentence of its own page.
            self.init(502, failure.message.prefix(1).uppercased() + failure.message.dropFirst())
        }
    }
}
