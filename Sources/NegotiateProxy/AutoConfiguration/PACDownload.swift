internal import NIOCore
internal import NIOHTTP1
internal import NIOPosix
internal import NIOSSL
internal import SignOnPolicy
internal import SystemSupport

/// Fetches a PAC file from a web server: without a proxy, without credentials, and with limits on size and time.
///
/// It is not the client of the package for a reason: how requests leave is what the file decides, and a ticket for the server of the
/// PAC file would be one that no host rule allows.
struct PACDownload: Sendable {
    /// The greatest number of redirects. They may only lead to URLs with the same scheme.
    private static let redirects = 5

    /// The time for the whole download.
    var limit = Duration.seconds(10)
    /// The certificates that are trusted; nil for those of the system.
    var trustRoots: NIOSSLTrustRoots?

    /// Fetches the file of a location on a server.
    ///
    /// - Throws: A `RoutingError` that names the location.
    func fetch(_ location: PACLocation) async throws(RoutingError) -> [UInt8] {
        let result = await firstResult(within: limit) { await self.follow(location) }
        guard let result else {
            let remedy = "check that its server can be reached."
            throw RoutingError("The PAC file \(location) could not be read within \(limit.components.seconds) seconds: \(remedy)")
        }
        return try result.get()
    }

    private func follow(_ first: PACLocation) async -> Result<[UInt8], RoutingError> {
        var location = first
        for _ in 0...Self.redirects {
            let reply: PACServerReply
            do {
                reply = try await get(location)
            } catch {
                return .failure(Self.failure(first, "cannot be read (\(Self.reason(error)))", "check that its server can be reached."))
            }
            switch reply.status {
            case 200 where reply.isTooLong: return .failure(Self.failure(first, "is larger than 1 MiB", "make it shorter."))
            case 200: return .success(reply.body)
            case 301, 302, 303, 307, 308:
                guard let next = reply.redirect.flatMap(location.redirected) else {
                    let reason =
                        "redirects to “\((reply.redirect ?? "").escapedForDisplay(limit: 200))”, which has another scheme or is not a URL"
                    return .failure(Self.failure(first, reason, "configure the URL to which it should lead."))
                }
                location = next
            default:
                let reason = "cannot be read, because its server replied with status \(reply.status)"
                return .failure(Self.failure(first, reason, "correct the location, or ask the administrator of the server."))
            }
        }
        return .failure(Self.failure(first, "redirects more than \(Self.redirects) times", "configure the URL to which it should lead."))
    }

    private static func failure(_ location: PACLocation, _ fact: String, _ remedy: String) -> RoutingError {
        RoutingError("The PAC file \(location) \(fact): \(remedy)")
    }

    private static func reason(_ error: any Error) -> String {
        let text =
            switch error {
            case let error as NIOConnectionError where error.connectionErrors.isEmpty: "the name of the server cannot be resolved"
            case let error as NIOConnectionError: error.connectionErrors.first.map { String(describing: $0.error) } ?? ""
            case is HTTPParserError: "the server's reply is not valid HTTP, or ends early"
            case is NIOSSLError: "TLS failed: \(error)"
            case let error as NIOSSLExtraError: "TLS failed: \(error.description)"
            default: String(describing: error)
            }
        return text.escapedForDisplay(limit: 200)
    }

    private func get(_ location: PACLocation) async throws -> PACServerReply {
        guard case .server(let origin, let target) = location.place else { return PACServerReply(status: 404) }
        let secure = try secureHandler(origin)
        let limit = TimeAmount.nanoseconds(Int64(limit / .nanoseconds(1)))
        let group = MultiThreadedEventLoopGroup.singleton
        let promise = group.next().makePromise(of: PACServerReply.self)
        do {
            _ = try await ClientBootstrap(group: group)
                .connectTimeout(limit)
                .channelInitializer { channel in
                    channel.eventLoop.makeCompletedFuture {
                        let pipeline = channel.pipeline.syncOperations
                        if let secure {
                            try pipeline.addHandler(
                                NIOSSLClientHandler(context: secure, serverHostname: origin.isAddress ? nil : origin.host)
                            )
                        }
                        try pipeline.addHTTPClientHandlers()
                        try pipeline.addHandler(PACReplyReader(Self.head(origin, target), limit, promise))
                    }
                }
                .connect(host: origin.host, port: origin.port).get()
        } catch {
            promise.fail(error)
        }
        return try await promise.futureResult.get()
    }

    private func secureHandler(_ origin: Origin) throws -> NIOSSLContext? {
        guard origin.scheme == .https else { return nil }
        var configuration = TLSConfiguration.makeClientConfiguration()
        if let trustRoots { configuration.trustRoots = trustRoots }
        return try NIOSSLContext(configuration: configuration)
    }

    private static func head(_ origin: Origin, _ target: String) -> HTTPRequestHead {
        let host = origin.host.contains(":") ? "[\(origin.host)]" : origin.host
        let fields: HTTPHeaders = [
            "Host": origin.port == origin.scheme.defaultPort ? host : "\(host):\(origin.port)", "Connection": "close",
            "Accept": "application/x-ns-proxy-autoconfig, */*;q=0.5", "Accept-Encoding": "identity", "User-Agent": "ksso",
        ]
        return HTTPRequestHead(version: .http1_1, method: .GET, uri: target, headers: fields)
    }
}

/// A server's reply to the request for a PAC file.
struct PACServerReply: Sendable {
    var status: Int
    var redirect: String?
    var body: [UInt8] = []
    var isTooLong = false
}

/// Sends one request, collects the reply, and closes the connection.
private final class PACReplyReader: ChannelInboundHandler {
    typealias InboundIn = HTTPClientResponsePart
    typealias OutboundOut = HTTPClientRequestPart

    private let request: HTTPRequestHead
    private let limit: TimeAmount
    private let promise: EventLoopPromise<PACServerReply>
    private var reply = PACServerReply(status: 0)
    private var deadline: Scheduled<Void>?

    init(_ request: HTTPRequestHead, _ limit: TimeAmount, _ promise: EventLoopPromise<PACServerReply>) {
        (self.request, self.limit, self.promise) = (request, limit, promise)
    }

    func channelActive(context: ChannelHandlerContext) {
        let channel = context.channel
        deadline = context.eventLoop.scheduleTask(in: limit) { channel.close(promise: nil) }
        context.write(wrapOutboundOut(.head(request)), promise: nil)
        context.writeAndFlush(wrapOutboundOut(.end(nil)), promise: nil)
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch unwrapInboundIn(data) {
        case .head(let head):
            reply = PACServerReply(status: Int(head.status.code), redirect: head.headers.first(name: "Location"))
        case .body(let part):
            guard reply.body.count + part.readableBytes <= PACScript.limit else {
                reply.isTooLong = true
                finish(context, .success(reply))
                return
            }
            reply.body += part.readableBytesView
        case .end: finish(context, .success(reply))
        }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) { finish(context, .failure(error)) }

    func channelInactive(context: ChannelHandlerContext) { finish(context, .failure(ChannelError.eof)) }

    /// The promise ignores all but the first result.
    private func finish(_ context: ChannelHandlerContext, _ result: Result<PACServerReply, any Error>) {
        deadline?.cancel()
        promise.completeWith(result)
        context.close(promise: nil)
    }
}
