package import NIOCore

#if canImport(Glibc)
    internal import Glibc
#elseif canImport(Musl)
    internal import Musl
#endif

/// Pauses a listening channel for a second when accept(2) fails temporarily, such as when the process has no descriptors left (`EMFILE`).
///
/// SwiftNIO's own handler for this only delays its next read, while the selector keeps waking up for the pending connection, so the process
/// would spin. This handler removes the socket from the selector.
package final class AcceptPauseHandler: ChannelInboundHandler {
    package typealias InboundIn = any Channel
    package typealias InboundOut = any Channel

    /// The temporary errors, after which SwiftNIO leaves the channel open.
    private static let passing: Set<CInt> = [ECONNABORTED, EMFILE, ENFILE, ENOBUFS, ENOMEM]

    private let pause: TimeAmount
    /// Receives the reason of the first failure, and nil when a connection is accepted again.
    private let report: (String?) -> Void
    private var hasFailed = false

    package init(pause: TimeAmount = .seconds(1), report: @escaping (String?) -> Void) {
        self.pause = pause
        self.report = report
    }

    package func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        if hasFailed {
            hasFailed = false
            report(nil)
        }
        context.fireChannelRead(data)
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
        try? channel.syncOptions?.setOption(.autoRead, value: false)
        context.eventLoop.assumeIsolated().scheduleTask(in: pause) {
            guard channel.isActive else { return }
            try? channel.syncOptions?.setOption(.autoRead, value: true)
        }
    }
}
