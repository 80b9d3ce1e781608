import NIOCore
import NIOPosix
import Synchronization

/// The port of a ``KDCNetwork``, on which it listens for TCP connections while the port is open.
final class ProxyPort: Sendable {
    private struct Listener {
        var channel: (any Channel)?
        /// The end of the last change. Changes run one after another.
        var change: EventLoopFuture<Void>?
    }

    let reserved: ReservedPort
    private let loop: any EventLoop
    private let listener = Mutex(Listener())

    init(at address: ListeningAddress, _ loop: any EventLoop) throws {
        reserved = try ReservedPort(at: address)
        self.loop = loop
    }

    /// Starts or stops listening for TCP, after all earlier changes.
    ///
    /// - Parameters:
    ///   - isOpen: Returns whether the port is to be open; called after the earlier changes.
    ///   - accept: Sets up the channel of a new connection.
    func changeListener(
        isOpen: @escaping @Sendable () -> Bool,
        accept: @escaping @Sendable (any Channel) -> EventLoopFuture<Void>
    ) async throws {
        try await listener.withLock { listener in
            let earlier = listener.change ?? loop.makeSucceededVoidFuture()
            // Submitted to the event loop, so that it never runs while the lock is held.
            let change = loop.flatSubmit { earlier.recover { _ in }.flatMap { self.makeListenerFit(isOpen(), accept) } }
            listener.change = change
            return change
        }.get()
    }

    private func makeListenerFit(
        _ isOpen: Bool,
        _ accept: @escaping @Sendable (any Channel) -> EventLoopFuture<Void>
    ) -> EventLoopFuture<Void> {
        switch (listener.withLock { $0.channel }, isOpen) {
        case (let channel?, false):
            listener.withLock { $0.channel = nil }
            return channel.close()
        case (nil, true):
            return ServerBootstrap(group: loop)
                .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
                .childChannelInitializer(accept)
                .bind(host: reserved.address.text, port: reserved.number)
                .map { channel in self.listener.withLock { $0.channel = channel } }
        default: return loop.makeSucceededVoidFuture()
        }
    }
}
