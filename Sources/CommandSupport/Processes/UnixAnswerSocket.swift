internal import Dispatch
package import Foundation
internal import SystemSupport

/// A Unix socket at which a running command reports its state: each connection gets one document and is closed.
package struct UnixAnswerSocket: Sendable {
    private let path: String
    private let descriptor: Int32

    /// Listens at a path; nil if that is not possible. A socket that is there is removed.
    package init?(path: String) {
        self.path = path
        descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue) | O_CLOEXEC | O_NONBLOCK, 0)
        unlink(path)
        guard descriptor >= 0, let address = UnixSocketAddress(path: path), address.lent(to: { bind(descriptor, $0, $1) }) == 0,
            listen(descriptor, 16) == 0
        else {
            if descriptor >= 0 { close(descriptor) }
            return nil
        }
    }

    /// Serves until the task is canceled, and removes the socket.
    ///
    /// - Parameter answer: Returns a document that is smaller than a socket's buffer, so that it is never sent in part.
    package func serve(_ answer: @Sendable () async -> Data) async {
        let (connections, continuation) = AsyncStream.makeStream(of: Int32.self)
        let source = DispatchSource.makeReadSource(fileDescriptor: descriptor, queue: DispatchQueue(label: "ksso.answers"))
        source.setEventHandler { [descriptor] in
            let connection = accept(descriptor, nil, nil)
            guard connection >= 0 else { return }
            _ = fcntl(connection, F_SETFD, FD_CLOEXEC)
            continuation.yield(connection)
        }
        source.setCancelHandler { [descriptor] in close(descriptor) }
        source.activate()
        for await connection in connections {
            let bytes = Array(await answer())
            _ = send(connection, bytes, bytes.count, Int32(MSG_NOSIGNAL) | Int32(MSG_DONTWAIT))
            close(connection)
        }
        source.cancel()
        unlink(path)
    }

    /// Reads the document of the command that listens at a path. Removes the socket of a command that has exited. Call it on a thread that
    /// may block.
    ///
    /// - Returns: The document; nil if no command answers within five seconds.
    package static func read(path: String) -> Data? {
        let descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue) | O_CLOEXEC, 0)
        guard descriptor >= 0, let address = UnixSocketAddress(path: path) else { return nil }
        defer { close(descriptor) }
        guard address.lent(to: { connect(descriptor, $0, $1) }) == 0 else {
            if errno == ECONNREFUSED { unlink(path) }
            return nil
        }
        // A suspended command never answers.
        var limit = timeval(tv_sec: 5, tv_usec: 0)
        setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
        var (data, buffer) = (Data(), [UInt8](repeating: 0, count: 65_536))
        while case let count = recv(descriptor, &buffer, buffer.count, 0), count > 0 { data.append(contentsOf: buffer[..<count]) }
        return data
    }
}
