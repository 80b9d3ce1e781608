package import NIOCore

#if canImport(Glibc)
    internal import Glibc
#elseif canImport(Musl)
    internal import Musl
#endif

/// Pauses a listening channel for a second when accept(2) fails temporarily, such as when the process has no descriptors left (`EMFILE`),
/// and while many accepted connections wait for their event loops.
///
/// SwiftNIO's own handler for a failure only delays its next read, while the selector keeps waking up for the pending connection, so the
/// process would spin. This handler removes the socket from the selector.
///
/// A connection beyond a limit is closed on its own event loop. Until then it has a descriptor, so without the second pause many clients
/// could use all descriptors while the event loops are busy. Each connection's initializer reports its end with
/// ``connectionIsSetUp(_:)``.
package final class AcceptPauseHandler: ChannelInboundHandler {
    package typealias InboundIn = any Channel
    package typealias InboundOut = any Channel

    /// The temporary errors, after which SwiftNIO leaves the channel open.
    private static let passing: Set<CInt> = [ECONNABORTED, EMFILE, ENFILE, ENOBUFS, ENOMEM]
    /// The maximum number of connections that wait for their event loops.
    private static let waitingLimit = 8

    private let pause: TimeAmount
    /// Receives the reason of the first failure, and nil when a connection is accepted again.
    private let report: (String?) -> Void
    private var hasFailed = false
    /// The accepted connections that their event loops have neither set up nor closed.
    private var waiting: Set<ObjectIdentifier> = []
    private var isFull = false
    /// The number of pauses in progress.
    private var pauses = 0

    package init(pause: TimeAmount = .seconds(1), report: @escaping (String?) -> Void) {
        self.pause = pause
        self.report = report
    }

    package func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        if hasFailed {
            hasFailed = false
            report(nil)
        }
        let connection = unwrapInboundIn(data)
        let key = ObjectIdentifier(connection)
        waiting.insert(key)
        if !isFull, waiting.count >= Self.waitingLimit {
            isFull = true
            stopAccepting(on: context.channel)
        }
        let (eventLoop, channel, handler) = (context.eventLoop, context.channel, NIOLoopBound(self, eventLoop: context.eventLoop))
        // A connection whose setup fails is closed.
        connection.closeFuture.whenComplete { _ in
            eventLoop.execute { handler.value.remove(key, on: channel) }
        }
        context.fireChannelRead(data)
    }

    /// Reports, on any thread, that a connection's initializer has set it up or closed it.
    package static func connectionIsSetUp(_ connection: any Channel) {
        connection.parent?.pipeline.fireUserInboundEventTriggered(SetUp(key: ObjectIdentifier(connection)))
    }

    private struct SetUp: Sendable {
        let key: ObjectIdentifier
    }

    package func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        guard let event = event as? SetUp else { return context.fireUserInboundEventTriggered(event) }
        remove(event.key, on: context.channel)
    }

    private func remove(_ key: ObjectIdentifier, on channel: any Channel) {
        waiting.remove(key)
        guard isFull, waiting.count < Self.waitingLimit else { return }
        isFull = false
        resumeAccepting(on: channel)
    }

    package func errorCaught(context: ChannelHandlerContext, error: any Error) {
        guard let number = (error as? IOError)?.errnoCode, Self.passing.contains(number), context.channel.isActive else {
            return context.fireErrorCaught(error)
        }
        if !hasFailed {
            hasFailed = true
            report(unsafe String(cString: strerror(number)))
        }
        let channel = context.channel
        stopAccepting(on: channel)
        context.eventLoop.assumeIsolated().scheduleTask(in: pause) { self.resumeAccepting(on: channel) }
    }

    private func stopAccepting(on channel: any Channel) {
        pauses += 1
        try? channel.syncOptions?.setOption(.autoRead, value: false)
    }

    private func resumeAccepting(on channel: any Channel) {
        pauses -= 1
        guard pauses == 0, channel.isActive else { return }
        try? channel.syncOptions?.setOption(.autoRead, value: true)
    }
}
