package import NIOCore

#if canImport(Glibc)
    internal import Glibc
#elseif canImport(Musl)
    internal import Musl
#endif

/// Has a listening channel wait a second before it accepts again when the process has no descriptor left (accept(2), `EMFILE`).
///
/// SwiftNIO's own handler for this delays its next read alone, while the selector goes on to wake for the connection that waits: the
/// process would spin. This one takes the socket out of the selector.
package final class AcceptPauseHandler: ChannelInboundHandler {
    package typealias InboundIn = any Channel
    package typealias InboundOut = any Channel

    /// The errors that pass, after which SwiftNIO leaves the channel open.
    private static let passing: Set<CInt> = [ECONNABORTED, EMFILE, ENFILE, ENOBUFS, ENOMEM]

    private let pause: TimeAmount
    /// Receives the reason at the first failure, and nil at the first connection after it.
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
