internal import Synchronization
package import SystemSupport

#if canImport(Glibc)
    internal import Glibc
#elseif canImport(Musl)
    internal import Musl
#endif

/// A listening Unix socket. It closes itself unless its descriptor is taken.
package struct ListeningSocket: ~Copyable, Sendable {
    /// The descriptor; -1 once it has been taken.
    private var descriptor: Int32
    /// The path of the socket.
    package let path: String
    /// The identity of the file at ``path`` when the socket was bound or inherited; nil if no file was there.
    package private(set) var file: FileIdentity?

    private init(descriptor: Int32, path: String) {
        self.descriptor = descriptor
        self.path = path
    }

    deinit { if descriptor >= 0 { close(descriptor) } }

    /// The number of connections that may wait to be accepted, unless the system's limit is lower.
    package static let backlog: Int32 = 1024

    /// Returns the descriptor; the caller must close it.
    package consuming func take() -> Int32 {
        defer { descriptor = -1 }
        return descriptor
    }

    /// Returns another descriptor of the same socket, which keeps listening when this one is closed; nil if no descriptor is left.
    package borrowing func duplicate() -> ListeningSocket? {
        let copy = fcntl(descriptor, F_DUPFD_CLOEXEC, 3)
        guard copy >= 0 else { return nil }
        var socket = ListeningSocket(descriptor: copy, path: path)
        socket.file = file
        return socket
    }

    /// Binds a listening socket at a path, replacing a stale socket on which no process listens.
    ///
    /// No client can connect before the mode is set, because the socket does not listen until then. A process that may run more than once
    /// must take a lock first, because another process may bind the path between the check of the old socket and its removal.
    ///
    /// - Parameter mode: The file mode: 0o600 lets the owner connect, 0o666 every user.
    package static func bind(path: String, mode: UInt32 = 0o600, backlog: Int32 = ListeningSocket.backlog) throws(SocketError)
        -> ListeningSocket
    {
        let address = try address(path)
        try removeStale(path, address)
        let descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue) | O_CLOEXEC | O_NONBLOCK, 0)
        guard descriptor >= 0 else { throw failure("\(path): no socket can be created") }
        var socket = ListeningSocket(descriptor: descriptor, path: path)
        guard unsafe address.lent(to: { unsafe Glibc.bind(descriptor, $0, $1) }) == 0 else {
            throw failure("\(path): the socket cannot be created there")
        }
        socket.file = FileIdentity(path: path)
        guard unsafe chmod(path, mode) == 0, listen(descriptor, backlog) == 0 else {
            let error = failure("\(path): the socket cannot be opened")
            unsafe unlink(path)
            throw error
        }
        return socket
    }

    /// Creates a socket from one that another process, such as systemd, has bound and passed on.
    package init(inherited descriptor: Int32) throws(SocketError) {
        var listens: Int32 = 0
        var size = socklen_t(MemoryLayout<Int32>.size)
        let asked = unsafe getsockopt(descriptor, SOL_SOCKET, SO_ACCEPTCONN, &listens, &size)
        guard let path = UnixSocketAddress.path(boundTo: descriptor), asked == 0, listens != 0 else {
            throw SocketError(
                .unusableDescriptor,
                "descriptor \(descriptor), which was passed to the process, is not a listening Unix socket."
            )
        }
        _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
        _ = fcntl(descriptor, F_SETFL, fcntl(descriptor, F_GETFL) | O_NONBLOCK)
        self.init(descriptor: descriptor, path: path)
        file = FileIdentity(path: path)
    }

    /// Four bytes less than Linux permits: SwiftNIO connects to no longer path, on Linux as on other systems.
    package static let maximumPathLength = 103

    private static func address(_ path: String) throws(SocketError) -> UnixSocketAddress {
        guard path.utf8.count <= maximumPathLength, let address = UnixSocketAddress(path: path) else {
            throw SocketError(
                .pathTooLong,
                "\(path): the path of a socket cannot exceed \(maximumPathLength) bytes. Set KSSO_RUNTIME_DIR to a shorter path."
            )
        }
        return address
    }

    /// Removes a socket on which no process listens.
    private static func removeStale(_ path: String, _ address: UnixSocketAddress) throws(SocketError) {
        var status = stat()
        guard unsafe lstat(path, &status) == 0 else { return }
        guard status.st_mode & S_IFMT == S_IFSOCK else {
            throw SocketError(.notASocket, "\(path): the file there is not a socket. Remove it, or set KSSO_RUNTIME_DIR.")
        }
        // A full backlog also means that a process is listening.
        switch address.listener() {
        case nil: throw failure("\(path): no socket can be created")
        case .accepting, .busy: throw SocketError(.inUse, "\(path): another process listens there.")
        case .forbidden, .absent: break
        }
        unsafe unlink(path)
    }

    static func failure(_ what: String) -> SocketError {
        let number = errno
        return SocketError(.system(number), "\(what): \(unsafe String(cString: strerror(number))).")
    }
}

/// A placeholder descriptor for SwiftNIO, replaced by a socket that already listens before the first connection is accepted.
///
/// SwiftNIO calls listen(2) again on a socket that it is given, with a backlog of 128. While that many connections were waiting, as when an
/// agent has just started, further clients were refused.
package final class PlaceholderSocket: Sendable {
    /// The descriptor for `ServerBootstrap`, whose channel closes it.
    package let descriptor: Int32
    /// The listening socket; nil once it has replaced the placeholder.
    private let listening: Mutex<ListeningSocket?>

    /// Creates the placeholder for a listening socket.
    ///
    /// - Throws: ``SocketError`` if no socket can be created.
    package init(for listening: consuming ListeningSocket) throws(SocketError) {
        self.listening = Mutex(listening)
        let number = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue) | O_CLOEXEC | O_NONBLOCK, 0)
        descriptor = number
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        // Given only the family, Linux assigns a name (unix(7), autobind feature); a socket without a name cannot listen.
        let length = socklen_t(MemoryLayout<sa_family_t>.size)
        let result = unsafe withUnsafeBytes(of: &address) {
            unsafe bind(number, $0.baseAddress?.assumingMemoryBound(to: sockaddr.self), length)
        }
        guard result == 0 else {
            let error = ListeningSocket.failure("no socket can be created")
            close(number)
            throw error
        }
    }

    /// Replaces the placeholder with the listening socket. Call it in `serverChannelInitializer`, before the channel is registered.
    package func replace() throws(SocketError) {
        guard let listening = listening.withLock({ $0.take() }) else { return }
        let number = listening.take()
        defer { close(number) }
        // dup3(2), which sets the flag in the same step, is not available in Swift.
        guard dup2(number, descriptor) >= 0, fcntl(descriptor, F_SETFD, FD_CLOEXEC) == 0 else {
            throw ListeningSocket.failure("the socket cannot be served")
        }
    }
}

/// The reason why a process cannot listen on a Unix socket.
package struct SocketError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The kind of failure.
    package enum Code: Hashable, Sendable {
        /// The path is longer than a socket address permits.
        case pathTooLong
        /// Another process listens on the socket.
        case inUse
        /// The file at the path is not a socket.
        case notASocket
        /// An inherited descriptor is not a listening Unix socket.
        case unusableDescriptor
        /// A system call failed with this `errno`.
        case system(Int32)
    }

    /// The kind of failure.
    package let code: Code
    /// A sentence that says what failed and what to do.
    package let description: String

    package init(_ code: Code, _ description: String) {
        self.code = code
        self.description = description
    }
}
