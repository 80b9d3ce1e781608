internal import NIOCore
internal import NIOHTTP1

/// Writes one request at a time and gathers its response.
final class AgentResponseHandler: ChannelDuplexHandler {
    typealias InboundIn = HTTPClientResponsePart
    typealias OutboundIn = Exchange
    typealias OutboundOut = HTTPClientRequestPart

    /// A request and who waits for its response.
    struct Exchange: Sendable {
        let request: AgentConnection.Request
        let promise: EventLoopPromise<AgentConnection.Response>

        var id: ObjectIdentifier { ObjectIdentifier(promise.futureResult) }
    }

    /// The task that waits for an exchange was cancelled.
    struct Cancellation {
        let exchange: ObjectIdentifier
    }

    /// Larger than any answer of the agent; what is beyond is another program.
    private static let bodyLimit = 16 << 20

    private var exchange: Exchange?
    private var response = AgentConnection.Response()
    private var hasHead = false
    private var closesAfterResponse = false
    private var deadline: Scheduled<Void>?
    /// The cancellation may come before the request, and after its end.
    private var canceled: ObjectIdentifier?

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        let exchange = unwrapOutboundIn(data)
        guard self.exchange == nil, canceled != exchange.id, context.channel.isActive else {
            exchange.promise.fail(canceled == exchange.id ? AgentConnection.Failure.canceled : .lost)
            return
        }
        let request = exchange.request
        self.exchange = exchange
        response = AgentConnection.Response()
        hasHead = false
        deadline = context.eventLoop.assumeIsolated().scheduleTask(in: request.deadline) {
            self.fail(.timedOut, context: context)
        }
        var head = HTTPRequestHead(version: .http1_1, method: request.method, uri: request.path)
        head.headers.add(name: "host", value: "ksso")
        if let body = request.body {
            head.headers.add(name: "content-type", value: "application/json")
            head.headers.add(name: "content-length", value: "\(body.readableBytes)")
        }
        context.write(wrapOutboundOut(.head(head)), promise: nil)
        if let body = request.body { context.write(wrapOutboundOut(.body(.byteBuffer(body))), promise: nil) }
        context.write(wrapOutboundOut(.end(nil)), promise: nil)
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch unwrapInboundIn(data) {
        case .head(let head):
            guard exchange != nil else { return context.close(promise: nil) }
            hasHead = true
            response.status = Int(head.status.code)
            response.configurationVersion = head.headers.first(name: AgentHeader.configurationVersion)
            closesAfterResponse = !head.isKeepAlive
        case .body(var part):
            guard response.body.readableBytes + part.readableBytes <= Self.bodyLimit else {
                return fail(.broken("it is over \(Self.bodyLimit) bytes"), context: context)
            }
            if response.body.readableBytes == 0 { response.body = part } else { response.body.writeBuffer(&part) }
        case .end:
            let promise = take()
            let response = response
            self.response = AgentConnection.Response()
            // Closed before the answer is handed on, so that nobody keeps the connection.
            if closesAfterResponse { context.close(promise: nil) }
            promise?.succeed(response)
        }
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        guard let cancellation = event as? Cancellation else { return context.fireUserInboundEventTriggered(event) }
        canceled = cancellation.exchange
        if exchange?.id == canceled { fail(.canceled, context: context) }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        fail(AgentConnection.Failure(error, hasBegun: hasHead), context: context)
    }

    func channelInactive(context: ChannelHandlerContext) {
        take()?.fail(AgentConnection.Failure.end(hasBegun: hasHead))
        context.fireChannelInactive()
    }

    private func take() -> EventLoopPromise<AgentConnection.Response>? {
        deadline?.cancel()
        deadline = nil
        defer { exchange = nil }
        return exchange?.promise
    }

    private func fail(_ failure: AgentConnection.Failure, context: ChannelHandlerContext) {
        take()?.fail(failure)
        context.close(promise: nil)
    }
}
