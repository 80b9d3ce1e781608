internal import Synchronization

#if canImport(Glibc)
    internal import Glibc
#elseif canImport(Musl)
    internal import Musl
#endif

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
