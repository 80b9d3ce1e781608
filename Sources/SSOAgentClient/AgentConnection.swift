internal import HTTPNegotiate
internal import NIOCore
internal import NIOHTTP1
internal import NIOPosix

#if canImport(Glibc)
    internal import Glibc
#elseif canImport(Musl)
    internal import Musl
#else
    internal import Darwin
#endif

/// One connection to the agent's socket, for one request after the other.
final class AgentConnection: Sendable {
    /// A whole response.
    struct Response: Sendable {
        var status = 0
        var configurationVersion: String?
        var body = ByteBuffer()
    }

    /// A request, ready to be sent.
    struct Request: Sendable {
        var method: HTTPMethod
        var path: String
        var body: ByteBuffer?
        var deadline: TimeAmount = .seconds(60)
    }

    /// Why no response came.
    enum Failure: Error {
        /// No agent listens.
        case notRunning(any Error)
        /// The connection ended before the first byte of the response.
        case lost
        /// The connection ended within the response, or what came is no HTTP.
        case broken(String)
        /// The deadline passed.
        case timedOut
        /// The task was cancelled.
        case canceled

        /// The connection has ended.
        static func end(hasBegun: Bool) -> Failure { hasBegun ? .broken("it ends in the middle") : .lost }

        /// What a channel met. An agent that goes away with a request unread has the kernel reset the connection.
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
        var pause = Duration.milliseconds(1)
        while true {
            do {
                let channel = try await connect(path, of: owner, on: group) { pipeline in
                    try pipeline.addHTTPClientHandlers(leftOverBytesStrategy: .dropBytes)
                    try pipeline.addHandler(AgentResponseHandler())
                }
                return AgentConnection(channel)
            } catch let failure as Failure {
                throw failure
            } catch {
                switch (error as? IOError)?.errnoCode {
                case ENOENT, ECONNREFUSED, ENOTDIR, nil: throw .notRunning(error)
                // The agent's queue is full, which passes; after a second it hangs.
                case EAGAIN: if pause > .milliseconds(512) { throw .timedOut }
                default: throw .broken("\(error)")
                }
            }
            do { try await Task.sleep(for: pause) } catch { throw .canceled }
            pause *= 2
        }
    }

    /// Connects, with the handlers that the closure adds.
    static func connect(
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

    /// Ends it.
    func close() { channel.close(promise: nil) }

    /// Sends a request and waits for the whole response, or the deadline; whatever fails ends the connection.
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
