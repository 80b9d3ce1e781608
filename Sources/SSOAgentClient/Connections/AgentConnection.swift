internal import NIOCore
internal import NIOHTTP1
internal import NIOPosix
internal import SignOnPolicy

#if canImport(Glibc)
    internal import Glibc
#elseif canImport(Musl)
    internal import Musl
#else
    internal import Darwin
#endif

/// A connection to the agent's socket, which sends one request at a time.
final class AgentConnection: Sendable {
    /// A complete response.
    struct Response: Sendable {
        var status = 0
        var configurationVersion: String?
        var body = ByteBuffer()
    }

    /// A request to be sent.
    struct Request: Sendable {
        var method: HTTPMethod
        var path: String
        var body: ByteBuffer?
        var deadline: TimeAmount = .seconds(60)
    }

    /// The reason why no response was received.
    enum Failure: Error {
        /// No agent is listening.
        case notRunning(any Error)
        /// The connection closed before the first byte of the response.
        case lost
        /// The connection closed within the response, or the received bytes are not HTTP.
        case broken(String)
        /// The deadline passed.
        case timedOut
        /// The task was canceled.
        case canceled

        /// The failure for a closed connection.
        static func end(hasBegun: Bool) -> Failure { hasBegun ? .broken("it is truncated") : .lost }

        /// Converts a channel's error. The kernel resets the connection when an agent exits without having read a request.
        init(_ error: any Error, hasBegun: Bool) {
            switch (error as? IOError)?.errnoCode {
            case ECONNRESET, EPIPE: self = .end(hasBegun: hasBegun)
            default: self = .broken("\(error)")
            }
        }
    }

    private let channel: any Channel

    private init(_ channel: any Channel) { self.channel = channel }

    /// Opens a connection. Throws ``Failure``.
    static func open(_ path: String, of owner: Owner = Owner(), on group: any EventLoopGroup) async throws(Failure) -> AgentConnection {
        let channel = try await channel(path, of: owner, on: group) { pipeline in
            try pipeline.addHTTPClientHandlers(leftOverBytesStrategy: .dropBytes)
            try pipeline.addHandler(AgentResponseHandler())
        }
        return AgentConnection(channel)
    }

    /// Opens a channel with the handlers that the closure adds. They must send nothing before the owner has been checked. Throws
    /// ``Failure``.
    static func channel(
        _ path: String,
        of owner: Owner,
        on group: any EventLoopGroup,
        _ setUp: @escaping @Sendable (ChannelPipeline.SynchronousOperations) throws -> Void
    ) async throws(Failure) -> any Channel {
        var pause = Duration.milliseconds(1)
        while true {
            do {
                return try await connect(path, of: owner, on: group, setUp)
            } catch let failure as Failure {
                throw failure
            } catch {
                switch (error as? IOError)?.errnoCode {
                case ENOENT, ECONNREFUSED, ENOTDIR, nil: throw .notRunning(error)
                // The agent's queue is full, which usually passes. After about a second the agent is considered to hang.
                case EAGAIN: if pause > .milliseconds(512) { throw .timedOut }
                default: throw .broken("\(error)")
                }
            }
            do { try await Task.sleep(for: pause) } catch { throw .canceled }
            pause *= 2
        }
    }

    private static func connect(
        _ path: String,
        of owner: Owner,
        on group: any EventLoopGroup,
        _ setUp: @escaping @Sendable (ChannelPipeline.SynchronousOperations) throws -> Void
    ) async throws -> any Channel {
        let channel = try await ClientBootstrap(group: group)
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture { try setUp(channel.pipeline.syncOperations) }
            }
            .connect(unixDomainSocketPath: path).get()
        try await channel.eventLoop.submit { try check(channel, owner, path: path) }.get()
        return channel
    }

    /// Whether a request can be sent.
    var isOpen: Bool { channel.isActive }

    /// Closes the connection.
    func close() { channel.close(promise: nil) }

    /// Sends a request and waits for the complete response. Any failure, including the deadline, closes the connection.
    func send(_ request: Request) async throws(Failure) -> Response {
        let exchange = AgentResponseHandler.Exchange(request: request, promise: channel.eventLoop.makePromise(of: Response.self))
        do {
            return try await withTaskCancellationHandler {
                channel.writeAndFlush(exchange, promise: nil)
                return try await exchange.promise.futureResult.get()
            } onCancel: {
                channel.pipeline.fireUserInboundEventTriggered(AgentResponseHandler.Cancellation(exchange: exchange.id))
            }
        } catch let failure as Failure {
            throw failure
        } catch {
            throw .broken("\(error)")
        }
    }
}

extension AgentConnection {
    /// The user that the listener must belong to, because passwords are sent to it and its tokens are added to requests.
    struct Owner: Sendable {
        /// The ID of the agent's user, such as that of a service; nil means this process's user.
        var user: UInt32?

        /// Returns whether to trust a listener, given its user from the kernel (`SO_PEERCRED`). Root is permitted, because it may listen
        /// for any user.
        func permits(_ listener: UInt32) -> Bool { listener == user ?? geteuid() || listener == 0 }
    }

    /// Throws if the listener belongs to another user, before anything is sent. Runs on the channel's event loop.
    static func check(_ channel: any Channel, _ owner: Owner, path: String) throws {
        guard let provider = channel as? any SocketOptionProvider else { return }
        // `struct ucred`, which the C library's module does not declare: process, user, group.
        let asked: EventLoopFuture<(Int32, UInt32, UInt32)> = provider.unsafeGetSocketOption(
            level: .socket,
            name: NIOBSDSocket.Option(rawValue: SO_PEERCRED)
        )
        // On the channel's own event loop the option is read immediately.
        var listener: UInt32?
        asked.assumeIsolated().whenSuccess { listener = $0.1 }
        guard let listener, owner.permits(listener) else {
            channel.close(promise: nil)
            throw Failure.broken("another user's process listens there")
        }
    }
}

/// Sends one request at a time and collects its response.
final class AgentResponseHandler: ChannelDuplexHandler {
    typealias InboundIn = HTTPClientResponsePart
    typealias OutboundIn = Exchange
    typealias OutboundOut = HTTPClientRequestPart

    /// A request and the promise for its response.
    struct Exchange: Sendable {
        let request: AgentConnection.Request
        let promise: EventLoopPromise<AgentConnection.Response>

        var id: ObjectIdentifier { ObjectIdentifier(promise.futureResult) }
    }

    /// An event that the task waiting for an exchange was canceled.
    struct Cancellation {
        let exchange: ObjectIdentifier
    }

    /// The maximum size of a response body, larger than any response of the agent.
    private static let bodyLimit = 16 << 20

    private var exchange: Exchange?
    private var response = AgentConnection.Response()
    private var hasHead = false
    private var closesAfterResponse = false
    private var deadline: Scheduled<Void>?
    /// The last canceled exchange; the cancellation can arrive before the request or after its end.
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
                return fail(.broken("it is longer than \(Self.bodyLimit) bytes"), context: context)
            }
            if response.body.readableBytes == 0 { response.body = part } else { response.body.writeBuffer(&part) }
        case .end:
            let promise = take()
            let response = response
            self.response = AgentConnection.Response()
            // The connection is closed before the response is delivered, so that the pool does not keep it.
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
