internal import Dispatch
internal import Synchronization

#if canImport(Glibc)
    internal import Glibc
#else
    internal import Darwin
#endif

/// Connects to a server of a domain.
package enum ServerConnection {
    /// A blocking TCP socket that is connected to one of the addresses, whose calls fail with `EAGAIN` after the limit; nil if none of the
    /// addresses answers in its share of the limit. Blocks the calling thread. The caller closes the socket.
    package static func open(to addresses: [String], port: UInt16, within limit: Duration) -> Int32? {
        for address in addresses {
            let deadline = ContinuousClock.now + limit / addresses.count
            guard case .success(let descriptor) = KDCSocket.stream(to: address, port: port, until: deadline) else { continue }
            var time = timeval(tv_sec: Int(limit.components.seconds), tv_usec: 0)
            time.tv_usec = .init(limit.components.attoseconds / 1_000_000_000_000)
            let size = socklen_t(MemoryLayout<timeval>.size)
            _ = fcntl(descriptor, F_SETFL, fcntl(descriptor, F_GETFL) & ~O_NONBLOCK)
            for option in [SO_RCVTIMEO, SO_SNDTIMEO] { _ = setsockopt(descriptor, SOL_SOCKET, option, &time, size) }
            return descriptor
        }
        return nil
    }
}

/// Shuts a connection down at a deadline, so that the calls on its socket fail, whichever library makes them.
package final class SocketDeadline: Sendable {
    /// A duplicate of the socket, which stays this connection even if the socket is closed and its number used again; nil at the end.
    private let descriptor: Mutex<Int32?>

    /// Ends a connection after some time, unless ``end()`` is called before.
    package init(of socket: Int32, after limit: Duration) {
        let copy = fcntl(socket, F_DUPFD_CLOEXEC, 0)
        descriptor = Mutex(copy < 0 ? nil : copy)
        let time = limit.components
        let nanoseconds = Int(time.seconds) * 1_000_000_000 + Int(time.attoseconds / 1_000_000_000)
        DispatchQueue(label: "kerberos.deadline").asyncAfter(deadline: .now() + .nanoseconds(nanoseconds)) { [weak self] in
            self?.descriptor.withLock { if let open = $0 { shutdown(open, Int32(SHUT_RDWR)) } }
        }
    }

    /// Ends the watch.
    package func end() {
        descriptor.withLock { open in
            if let descriptor = open { close(descriptor) }
            open = nil
        }
    }

    deinit { end() }
}
