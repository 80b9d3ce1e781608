#if canImport(Glibc)
    internal import Glibc
#elseif canImport(Musl)
    internal import Musl
#endif

#if !canImport(Darwin)
    /// The process at the other end of a connected Unix socket, as the kernel recorded it when it started to listen or connected.
    package struct UnixPeer: Sendable, Hashable {
        /// The process ID; 0 if the process is in another PID namespace.
        package let processID: Int32
        /// The effective user ID.
        package let userID: UInt32

        /// Reads the peer of a socket (`SO_PEERCRED`, unix(7)); nil if it is not connected.
        package init?(of descriptor: Int32) {
            // `struct ucred`, which Glibc's module does not declare: process, user, group.
            var peer: (Int32, UInt32, UInt32) = (0, .max, .max)
            var size = socklen_t(12)
            guard unsafe getsockopt(descriptor, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 else { return nil }
            (processID, userID) = (peer.0, peer.1)
        }
    }

    /// Whether a process listens at a Unix socket.
    package enum UnixListener: Sendable, Hashable {
        /// This process accepts connections.
        case accepting(UnixPeer)
        /// A process listens, and its queue of connections is full.
        case busy
        /// This user may not connect.
        case forbidden
        /// No process listens, or there is no socket.
        case absent
    }

    extension UnixSocketAddress {
        /// Tries to connect. It takes some microseconds and never blocks.
        ///
        /// - Returns: The result; nil if no socket can be created, in which case `errno` says why.
        package func listener() -> UnixListener? {
            let descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue) | O_CLOEXEC | O_NONBLOCK, 0)
            guard descriptor >= 0 else { return nil }
            defer { close(descriptor) }
            guard unsafe lent(to: { unsafe connect(descriptor, $0, $1) }) == 0 else {
                return errno == EAGAIN ? .busy : errno == EACCES ? .forbidden : .absent
            }
            return UnixPeer(of: descriptor).map(UnixListener.accepting) ?? .absent
        }
    }
#endif
