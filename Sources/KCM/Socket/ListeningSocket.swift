internal import Synchronization
package import UnixSystem

#if canImport(Glibc)
    internal import Glibc
#elseif canImport(Musl)
    internal import Musl
#endif

/// A Unix socket that listens. It closes itself unless it is taken.
package struct ListeningSocket: ~Copyable, Sendable {
    /// -1 once it is taken.
    private var descriptor: Int32
    /// Where clients find it.
    package let path: String
    /// The file at ``path`` when the socket was bound or inherited; nil if there was none any more.
    package private(set) var file: FileIdentity?

    private init(descriptor: Int32, path: String) {
        self.descriptor = descriptor
        self.path = path
    }

    deinit { if descriptor >= 0 { close(descriptor) } }

    /// How many connections may wait to be accepted, where the system's own limit is no lower.
    package static let backlog: Int32 = 1024

    /// Hands the descriptor over; who takes it closes it.
    package consuming func take() -> Int32 {
        defer { descriptor = -1 }
        return descriptor
    }

    /// Another descriptor of the same socket, which goes on listening when this one is closed; nil if there is none left.
    package borrowing func duplicate() -> ListeningSocket? {
        let copy = fcntl(descriptor, F_DUPFD_CLOEXEC, 3)
        guard copy >= 0 else { return nil }
        var socket = ListeningSocket(descriptor: copy, path: path)
        socket.file = file
        return socket
    }

    /// Binds a socket at a path, in place of one that nobody listens on any more.
    ///
    /// Nobody can connect before the mode is set, since the socket does not listen until then. Whoever may find two of itself at work takes
    /// a lock first: between the look at an old socket and its removal another process may bind it.
    ///
    /// - Parameter mode: Who may connect: 0o600 the owner, 0o666 everybody.
    package static func bind(path: String, mode: UInt32 = 0o600, backlog: Int32 = ListeningSocket.backlog) throws(SocketError)
        -> ListeningSocket
    {
        let address = try address(path)
        try removeStale(path, address)
        let descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue) | O_CLOEXEC | O_NONBLOCK, 0)
        guard descriptor >= 0 else { throw failure("\(path): no socket can be made") }
        var socket = ListeningSocket(descriptor: descriptor, path: path)
        guard unsafe address.lent(to: { unsafe Glibc.bind(descriptor, $0, $1) }) == 0 else {
            throw failure("\(path): the socket can't be made there")
        }
        socket.file = FileIdentity(path: path)
        guard unsafe chmod(path, mode) == 0, listen(descriptor, backlog) == 0 else {
            let error = failure("\(path): the socket can't be opened")
            unsafe unlink(path)
            throw error
        }
        return socket
    }

    /// A socket that another process, such as systemd, has bound and handed over.
    package init(inherited descriptor: Int32) throws(SocketError) {
        var listens: Int32 = 0
        var size = socklen_t(MemoryLayout<Int32>.size)
        let asked = unsafe getsockopt(descriptor, SOL_SOCKET, SO_ACCEPTCONN, &listens, &size)
        guard let path = UnixSocketAddress.path(boundTo: descriptor), asked == 0, listens != 0 else {
            throw SocketError(.unusableDescriptor, "descriptor \(descriptor), which was handed over, is no Unix socket that listens.")
        }
        _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
        _ = fcntl(descriptor, F_SETFL, fcntl(descriptor, F_GETFL) | O_NONBLOCK)
        self.init(descriptor: descriptor, path: path)
        file = FileIdentity(path: path)
    }

    /// Four less than Linux has: SwiftNIO connects to no longer one, here as on other systems.
    package static let maximumPathLength = 103

    private static func address(_ path: String) throws(SocketError) -> UnixSocketAddress {
        guard path.utf8.count <= maximumPathLength, let address = UnixSocketAddress(path: path) else {
            throw SocketError(
                .pathTooLong,
                "\(path): a socket's path has at most \(maximumPathLength) bytes. Set KSSO_RUNTIME_DIR to a shorter one."
            )
        }
        return address
    }

    /// Removes a socket that nobody listens on.
    private static func removeStale(_ path: String, _ address: UnixSocketAddress) throws(SocketError) {
        var status = stat()
        guard unsafe lstat(path, &status) == 0 else { return }
        guard status.st_mode & S_IFMT == S_IFSOCK else {
            throw SocketError(.notASocket, "\(path): something else than a socket is there. Remove it, or set KSSO_RUNTIME_DIR.")
        }
        let probe = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue) | O_CLOEXEC | O_NONBLOCK, 0)
        guard probe >= 0 else { throw failure("\(path): no socket can be made") }
        defer { close(probe) }
        let connected = unsafe address.lent { unsafe connect(probe, $0, $1) }
        // A full backlog is a listener too.
        if connected == 0 || errno == EAGAIN || errno == EINPROGRESS {
            throw SocketError(.inUse, "\(path): another process listens there.")
        }
        unsafe unlink(path)
    }

    static func failure(_ what: String) -> SocketError {
        let number = errno
        return SocketError(.system(number), "\(what): \(unsafe String(cString: strerror(number))).")
    }
}

/// What SwiftNIO is given for a socket that listens already, and exchanged for it before the first connection is accepted.
///
/// SwiftNIO calls listen(2) again for a socket that it is given, with a queue of 128: who came while as many were waiting, as they are
/// when an agent has just started, was turned away.
package final class SocketStandIn: Sendable {
    /// For `ServerBootstrap`, whose channel closes it.
    package let descriptor: Int32
    /// Nil once it has taken its place.
    private let listening: Mutex<ListeningSocket?>

    /// - Throws: ``SocketError`` where no socket can be made.
    package init(for listening: consuming ListeningSocket) throws(SocketError) {
        self.listening = Mutex(listening)
        let number = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue) | O_CLOEXEC | O_NONBLOCK, 0)
        descriptor = number
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        // From the family alone Linux makes a name (unix(7), autobind feature); a socket without one can't listen.
        let length = socklen_t(MemoryLayout<sa_family_t>.size)
        let result = unsafe withUnsafeBytes(of: &address) {
            unsafe bind(number, $0.baseAddress?.assumingMemoryBound(to: sockaddr.self), length)
        }
        guard result == 0 else {
            let error = ListeningSocket.failure("no socket can be made")
            close(number)
            throw error
        }
    }

    /// Puts the socket that listens in the stand-in's place: for `serverChannelInitializer`, which comes before the channel is registered.
    package func giveWay() throws(SocketError) {
        guard let listening = listening.withLock({ $0.take() }) else { return }
        let number = listening.take()
        defer { close(number) }
        // dup3(2), which sets the flag in one step, is out of Swift's reach.
        guard dup2(number, descriptor) >= 0, fcntl(descriptor, F_SETFD, FD_CLOEXEC) == 0 else {
            throw ListeningSocket.failure("the socket can't be served")
        }
    }
}

/// Why a Unix socket can't be listened on.
package struct SocketError: Error, Hashable, Sendable, CustomStringConvertible {
    /// What kind of failure it was.
    package enum Code: Hashable, Sendable {
        /// The path is longer than a socket's address.
        case pathTooLong
        /// Another process listens there.
        case inUse
        /// What stands at the path is no socket.
        case notASocket
        /// A descriptor that was handed over is no Unix socket that listens.
        case unusableDescriptor
        /// The system refused.
        case system(Int32)
    }

    /// What kind of failure it was.
    package let code: Code
    /// A sentence that says what failed and what to do.
    package let description: String

    package init(_ code: Code, _ description: String) {
        self.code = code
        self.description = description
    }
}
