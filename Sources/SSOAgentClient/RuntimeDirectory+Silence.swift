internal import Foundation
internal import UnixSystem

extension RuntimeDirectory {
    /// The sockets of an agent.
    package enum Socket: Sendable {
        /// ``kcmSocket``
        case caches
        /// ``apiSocket``
        case requests
    }

    /// How long a stopped agent is waited for: long enough to see that it is not about to go on.
    private static let stoppedLimit = 2
    /// How long any other is waited for beyond that. One that is only busy answers within it, on a slow machine too.
    private static let busyLimit = 8
    /// The same where somebody else listens, who may only now start the agent.
    private static let startLimit = 28

    /// Who listens at a socket; nil where nobody does, or somebody who is neither this user nor root. It never waits.
    package func listener(at socket: Socket) -> AgentListener? { Self.listener(atPath: path(of: socket)) }

    /// As ``listener(at:)``, of a socket that is elsewhere.
    package static func listener(atPath path: String) -> AgentListener? {
        guard let connection = ListenerConnection(path, limit: nil) else { return nil }
        return connection.isTrusted ? connection.listener : nil
    }

    /// Who listens at a socket and answers nothing, asked for what costs it nothing; nil where an answer comes, of whatever kind, and where
    /// nobody listens.
    ///
    /// libkrb5 waits for a cache server without a limit: this is asked before. It may wait for half a minute, so on a thread of its own.
    package func silentListener(at socket: Socket) -> AgentListener? {
        guard let connection = ListenerConnection(path(of: socket), limit: Self.busyLimit), connection.isTrusted else { return nil }
        let question: [UInt8] =
            switch socket {
            // The request for the default cache's name: its length, the protocol's version, its number.
            case .caches: [0, 0, 0, 4, 2, 0, 0, 20]
            case .requests: Array("GET \(AgentPath.configuration) HTTP/1.1\r\nhost: ksso\r\nconnection: close\r\n\r\n".utf8)
            }
        guard connection.ask(question, limit: Self.stoppedLimit) == .nothing else { return nil }
        let listener = connection.listener
        if listener.kind == .stoppedAgent { return listener }
        // The process may have changed its state meanwhile.
        let limit = listener.isAgent ? Self.busyLimit : Self.startLimit
        return connection.ask([], limit: limit) == .nothing ? connection.listener : nil
    }

    func path(of socket: Socket) -> String {
        switch socket {
        case .caches: kcmSocket
        case .requests: apiSocket
        }
    }
}

/// A connection to a Unix socket for one question.
private struct ListenerConnection: ~Copyable {
    enum Answer {
        case some
        case nothing
    }

    private let descriptor: Int32
    private let peer: (process: Int32, user: UInt32)

    /// - Parameter limit: How many seconds to wait while the listener's queue is full; nil does not wait.
    init?(_ path: String, limit: Int?) {
        guard let address = UnixSocketAddress(path: path) else { return nil }
        let descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue) | O_CLOEXEC | (limit == nil ? O_NONBLOCK : 0), 0)
        guard descriptor >= 0 else { return nil }
        if let limit { Self.set(SO_SNDTIMEO, limit, of: descriptor) }
        // `struct ucred`, which Glibc's module does not declare: process, user, group.
        var peer: (Int32, UInt32, UInt32) = (0, .max, .max)
        var size = socklen_t(12)
        guard unsafe address.lent(to: { unsafe connect(descriptor, $0, $1) }) == 0,
            unsafe getsockopt(descriptor, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0
        else {
            close(descriptor)
            return nil
        }
        self.descriptor = descriptor
        self.peer = (peer.0, peer.1)
    }

    deinit { close(descriptor) }

    var isTrusted: Bool { peer.user == geteuid() || peer.user == 0 }

    var listener: AgentListener { AgentListener(processID: peer.process) }

    /// Sends bytes and waits for the first one that comes back. An end of the connection is an answer as well.
    func ask(_ bytes: [UInt8], limit: Int) -> Answer {
        if !bytes.isEmpty, unsafe send(descriptor, bytes, bytes.count, Int32(MSG_NOSIGNAL)) < 0 { return .some }
        Self.set(SO_RCVTIMEO, limit, of: descriptor)
        var byte: UInt8 = 0
        while unsafe recv(descriptor, &byte, 1, 0) < 0 {
            guard errno == EINTR else { return errno == EAGAIN ? .nothing : .some }
        }
        return .some
    }

    private static func set(_ option: Int32, _ seconds: Int, of descriptor: Int32) {
        var limit = timeval(tv_sec: seconds, tv_usec: 0)
        unsafe setsockopt(descriptor, SOL_SOCKET, option, &limit, socklen_t(MemoryLayout<timeval>.size))
    }
}
