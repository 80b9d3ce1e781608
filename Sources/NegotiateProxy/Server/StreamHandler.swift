internal import NIOCore

/// Collects the bytes that a connection receives. It reads from the socket only for a caller that waits, so that a slow reader slows the
/// sender down. Used only on the connection's event loop.
final class StreamHandler: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = ByteBuffer

    private struct Reader {
        let number: Int
        let continuation: CheckedContinuation<Bool, any Error>
        let timeout: Scheduled<Void>?
    }

    /// Received bytes that have not been used.
    var received = ByteBuffer()
    /// Whether the peer sends no more.
    private(set) var isInputClosed = false
    private var failure: (any Error)?
    private var reader: Reader?
    private var context: ChannelHandlerContext?
    /// Waits for the end of the input.
    private var observer: CheckedContinuation<Void, Never>?
    /// Whether the connection is idle and closes with its input.
    private var isWatched = false

    func handlerAdded(context: ChannelHandlerContext) { self.context = context }
    func handlerRemoved(context: ChannelHandlerContext) { self.context = nil }

    /// Resumes a caller when bytes arrive (true) or the peer sends no more (false).
    ///
    /// - Parameter number: Identifies the caller for ``cancel(_:)``.
    func wait(_ number: Int, within limit: TimeAmount, _ continuation: CheckedContinuation<Bool, any Error>) {
        if let failure { return continuation.resume(throwing: failure) }
        isWatched = false
        guard !isInputClosed, let context, reader == nil else { return continuation.resume(returning: false) }
        let timeout = context.eventLoop.assumeIsolated().scheduleTask(in: limit) { self.finish(number, .failure(StreamTimeout())) }
        reader = Reader(number: number, continuation: continuation, timeout: timeout)
        // SwiftNIO loses a read of a connection that is not registered yet.
        if context.channel.isActive { context.read() }
    }

    func cancel(_ number: Int) { finish(number, .failure(CancellationError())) }

    /// Resumes a caller when the peer sends no more, or after ``cancelObserver()``. For one caller.
    func observeEnd(_ continuation: CheckedContinuation<Void, Never>) {
        guard !isInputClosed, context != nil else { return continuation.resume() }
        observer = continuation
    }

    func cancelObserver() {
        observer?.resume()
        observer = nil
    }

    /// Lets bytes and the end of an idle connection arrive, which then must not be used again.
    func watch() {
        isWatched = true
        context?.read()
    }

    func channelActive(context: ChannelHandlerContext) {
        if reader != nil { context.read() }
        context.fireChannelActive()
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        append(unwrapInboundIn(data))
    }

    /// Appends received bytes in the place of those that were used, which would otherwise remain for the life of the connection.
    func append(_ bytes: ByteBuffer) {
        if received.readableBytes == 0 {
            received = bytes
        } else {
            received.discardReadBytes()
            received.writeImmutableBuffer(bytes)
        }
    }

    func channelReadComplete(context: ChannelHandlerContext) {
        if received.readableBytes > 0 { finish(.success(true)) }
        context.fireChannelReadComplete()
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if case .inputClosed? = event as? ChannelEvent {
            isInputClosed = true
            finish(.success(received.readableBytes > 0))
            cancelObserver()
            if isWatched { context.close(promise: nil) }
        }
        context.fireUserInboundEventTriggered(event)
    }

    func channelInactive(context: ChannelHandlerContext) {
        isInputClosed = true
        finish(.success(received.readableBytes > 0))
        cancelObserver()
        context.fireChannelInactive()
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        failure = failure ?? error
        finish(.failure(error))
        context.close(promise: nil)
    }

    private func finish(_ number: Int, _ result: Result<Bool, any Error>) {
        if reader?.number == number { finish(result) }
    }

    private func finish(_ result: Result<Bool, any Error>) {
        guard let reader else { return }
        self.reader = nil
        reader.timeout?.cancel()
        reader.continuation.resume(with: result)
    }
}

/// The time limit of a read or a write has passed.
struct StreamTimeout: Error {}

/// The connection closed in the middle of a message.
struct StreamClosed: Error {}
