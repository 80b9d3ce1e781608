internal import NIOCore
internal import NIOPosix
internal import SystemSupport

#if canImport(Glibc)
    internal import Glibc
#elseif canImport(Musl)
    internal import Musl
#endif

/// A socket on which a proxy cannot listen.
package struct ListenerError: Error, Sendable, Hashable, CustomStringConvertible {
    /// Sentences that say what failed and what to do.
    package let message: String

    package var description: String { message }
}

/// The listening sockets of a proxy.
struct ProxyListeners: Sendable {
    private let channels: [any Channel]
    /// `127.0.0.1:3128`, or the path of a Unix socket.
    let addresses: [String]

    /// Listens, and passes each connection to a closure on its event loop. Closes all sockets if one fails.
    init(_ listeners: [ProxyConfiguration.Listener], accept: @escaping @Sendable (any Channel) throws -> Void) async throws {
        var channels: [any Channel] = []
        do {
            for listener in listeners { channels.append(try await Self.listen(listener, accept)) }
        } catch {
            for channel in channels { channel.close(promise: nil) }
            throw error
        }
        self.channels = channels
        addresses = channels.compactMap { $0.localAddress?.listenerText }
    }

    func close() {
        for channel in channels { channel.close(promise: nil) }
    }

    func waitUntilClosed() async {
        for channel in channels { try? await channel.closeFuture.get() }
    }

    private static func listen(
        _ listener: ProxyConfiguration.Listener,
        _ accept: @escaping @Sendable (any Channel) throws -> Void
    ) async throws -> any Channel {
        let bootstrap = ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .serverChannelOption(.backlog, value: 1024)
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            .childChannelOption(.autoRead, value: false)
            .childChannelOption(.allowRemoteHalfClosure, value: true)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture { try accept(channel) }
            }
        switch listener {
        case .tcp(let host, let port): return try await bind(bootstrap, host, port)
        case .unix(let path): return try await bind(bootstrap, path)
        case .descriptor(let descriptor):
            let channel = try await bootstrap.withBoundSocket(descriptor).get()
            guard channel.localAddress?.isLoopbackOrUnix == true else {
                try? await channel.close().get()
                throw ListenerError(
                    message: "The inherited socket \(descriptor) listens on an address that other machines can reach. Use 127.0.0.1."
                )
            }
            return channel
        }
    }

    private static func bind(_ bootstrap: ServerBootstrap, _ host: String, _ port: Int) async throws -> any Channel {
        guard let address = try? SocketAddress(ipAddress: host, port: port), address.isLoopbackOrUnix else {
            throw ListenerError(message: "\(host) is not a loopback address, and other machines could use the proxy. Use 127.0.0.1 or ::1.")
        }
        do {
            return try await bootstrap.bind(to: address).get()
        } catch let error as IOError {
            let hint =
                error.errnoCode == EADDRINUSE
                ? "Another program listens there, perhaps your own proxy: see ksso proxy status. Stop it, or choose another port with --listen."
                : "Choose another address or port."
            throw ListenerError(message: "The proxy cannot listen on \(host):\(port): \(SystemError.text(error.errnoCode)). \(hint)")
        }
    }

    private static func bind(_ bootstrap: ServerBootstrap, _ path: String) async throws -> any Channel {
        guard let address = UnixSocketAddress(path: path) else {
            throw ListenerError(message: "\(path): the path is too long for a Unix socket. Use a shorter path.")
        }
        switch address.listener() {
        case .accepting, .busy: throw ListenerError(message: "\(path): another program listens there. Stop it, or choose another path.")
        case .absent: Self.removeSocket(path)
        case .forbidden, nil: break
        }
        do {
            let channel = try await bootstrap.bind(unixDomainSocketPath: path).get()
            // Every connection is also checked by its user.
            _ = unsafe chmod(path, 0o600)
            channel.closeFuture.whenComplete { _ in Self.removeSocket(path) }
            return channel
        } catch let error as IOError {
            throw ListenerError(
                message: "\(path): the socket cannot be created: \(SystemError.text(error.errnoCode)). Check the directory."
            )
        }
    }

    /// Removes the socket of a process that has exited; another file stays.
    private static func removeSocket(_ path: String) {
        var status = stat()
        guard unsafe lstat(path, &status) == 0, status.st_mode & S_IFMT == S_IFSOCK else { return }
        _ = unsafe unlink(path)
    }
}

/// The text of a system error.
enum SystemError {
    static let connectionRefused = ECONNREFUSED

    static func text(_ number: Int32) -> String { unsafe String(cString: strerror(number)) }
}

extension SocketAddress {
    fileprivate var isLoopbackOrUnix: Bool {
        TCPSocketName(self)?.isLoopback ?? true
    }

    fileprivate var listenerText: String {
        guard let port, let ipAddress else { return pathname ?? "" }
        return ipAddress.contains(":") ? "[\(ipAddress)]:\(port)" : "\(ipAddress):\(port)"
    }
}
