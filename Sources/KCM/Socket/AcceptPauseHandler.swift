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
/// A connection beyond a limit is closed on its own event loop. Until then it has a descriptor, so without the second pause a crowd of
/// clients could use all descriptors while the event loops are busy.
package final class AcceptPauseHandler: ChannelInboundHandler {
    package typealias InboundIn = any Channel
    package typealias InboundOut = any Channel

    /// The temporary errors, after which SwiftNIO leaves the channel open.
    private static let passing: Set<CInt> = [ECONNABORTED, EMFILE, ENFILE, ENOBUFS, ENOMEM]
    /// The number of connections that may wait for their event loops.
    private static let waitingLimit = 8

    private let pause: TimeAmount
    /// Receives the reason of the first failure, and nil when a connection is accepted again.
    private let report: (String?) -> Void
    private var hasFailed = false
    /// The number of accepted connections that their event loops have neither set up nor closed.
    private var waiting = 0
    /// The number of reasons not to accept.
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
        waiting += 1
        if waiting == Self.waitingLimit { stopAccepting(on: context.channel) }
        let connection = unwrapInboundIn(data)
        context.fireChannelRead(data)
        let (eventLoop, channel) = (context.eventLoop, context.channel)
        let handler = NIOLoopBound(self, eventLoop: eventLoop)
        // Runs after the connection's initializer, which the event loop has received first.
        connection.eventLoop.execute {
            eventLoop.execute { handler.value.connectionIsSetUp(on: channel) }
        }
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

    private func connectionIsSetUp(on channel: any Channel) {
        waiting -= 1
        if waiting == Self.waitingLimit - 1 { resumeAccepting(on: channel) }
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
