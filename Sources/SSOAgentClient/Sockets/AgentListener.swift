internal import Foundation
package import SystemSupport

/// The process that listens at an agent's socket, as reported by the kernel, so that it is known even if the process is stopped or hangs.
package struct AgentListener: Sendable, Hashable {
    /// The kind of process.
    package enum Kind: Sendable, Hashable {
        /// `ksso agent run`.
        case agent
        /// `ksso agent run`, stopped by a signal or a debugger. The kernel still accepts connections for it, but no request is answered.
        case stoppedAgent
        /// Another program, such as systemd, which listens in an agent's place and passes its sockets to the agent.
        case other(name: String)
    }

    /// The process ID; 0 if the process is in another PID namespace.
    package let processID: Int32
    /// The kind of the process.
    package let kind: Kind

    /// Reads the kind of a process from /proc.
    package init(processID: Int32) {
        self.processID = processID
        let words = (KernelFile.text("/proc/\(processID)/cmdline") ?? "").split(separator: "\0", omittingEmptySubsequences: false)
        // The fields of proc_pid_stat(5): the process ID, the name in parentheses, the state.
        let text = KernelFile.text("/proc/\(processID)/stat") ?? ""
        let end = text.lastIndex(of: ")") ?? text.startIndex
        guard zip(words, words.dropFirst()).contains(where: { $0 == "agent" && $1 == "run" }) else {
            kind = .other(name: String(text[..<end].drop { $0 != "(" }.dropFirst()))
            return
        }
        let state = text[end...].dropFirst().first { $0 != " " }
        kind = state == "T" || state == "t" ? .stoppedAgent : .agent
    }

    /// Whether the process is the agent itself, so that stopping it affects no other program.
    package var isAgent: Bool { kind == .agent || kind == .stoppedAgent }

    /// A message for the case that the process does not answer: the problem and what to do.
    package var silence: String {
        switch kind {
        case .stoppedAgent:
            "the agent (process \(processID)) does not respond: it is suspended. Resume it with: kill -CONT \(processID); or stop "
                + "it with: ksso agent stop"
        case .agent:
            "the agent (process \(processID)) does not respond. Stop it with: ksso agent stop; then start it again."
        case .other(name: "systemd"):
            "the agent does not respond; systemd (process \(processID)) listens in its place. Start the agent again with: systemctl \(unit)"
        case .other(let name):
            "the agent does not respond; \(name.isEmpty ? "a program" : name) (process \(processID)) listens in its place. "
                + "Restart that program."
        }
    }

    /// The command that stops the agent for good if systemd listens, because systemd would start it again for the next request; nil
    /// otherwise.
    package var stopCommand: String? {
        guard kind == .other(name: "systemd") else { return nil }
        return processID == 1
            ? "systemctl stop ksso-agent@NAME.socket ksso-agent@NAME.service" : "systemctl --user stop ksso-agent.socket ksso-agent.service"
    }

    /// How to restart an agent that systemd did not start.
    package static let restartCommand = "ksso agent stop; ksso agent run --background"

    /// How to restart the agent together with its sockets.
    package var restartCommand: String {
        guard kind == .other(name: "systemd") else { return Self.restartCommand }
        return processID == 1
            ? "systemctl restart ksso-agent@NAME.socket ksso-agent@NAME.service"
            : "systemctl --user restart ksso-agent.socket ksso-agent.service"
    }

    /// The system manager (PID 1) runs a service's agent, and a user's manager runs the user's agent.
    private var unit: String { processID == 1 ? "restart ksso-agent@NAME" : "--user restart ksso-agent" }
}

extension RuntimeDirectory {
    /// The sockets of an agent.
    package enum Socket: Sendable {
        /// ``kcmSocket``
        case caches
        /// ``apiSocket``
        case requests
    }

    /// The time limit in seconds for a stopped agent, long enough to see that it does not continue.
    private static let stoppedLimit = 2
    /// The additional time limit in seconds for a running agent. An agent that is only busy answers within it, even on a slow machine.
    private static let busyLimit = 8
    /// The additional time limit in seconds for another listener, which may have to start the agent first.
    private static let startLimit = 28

    /// Returns the process that listens at a socket; nil if none does, or if its user is neither this user nor root. It never blocks.
    package func listener(at socket: Socket) -> AgentListener? { Self.listener(atPath: path(of: socket)) }

    /// The same as ``listener(at:)`` for a socket at any path.
    package static func listener(atPath path: String) -> AgentListener? {
        guard let connection = ListenerConnection(path, limit: nil) else { return nil }
        return connection.isTrusted ? connection.listener : nil
    }

    /// Returns the process that listens at a socket but does not answer an inexpensive request; nil if any answer comes, or if no process
    /// listens.
    ///
    /// Call this before libkrb5, which waits for a cache server without a time limit. It may block for half a minute, so call it on a
    /// separate thread.
    package func silentListener(at socket: Socket) -> AgentListener? {
        guard let connection = ListenerConnection(path(of: socket), limit: Self.busyLimit), connection.isTrusted else { return nil }
        let question: [UInt8] =
            switch socket {
            // The request for the default cache's name: its length, the protocol version and the operation.
            case .caches: [0, 0, 0, 4, 2, 0, 0, 20]
            case .requests: Array("GET \(AgentPath.configuration) HTTP/1.1\r\nhost: ksso\r\nconnection: close\r\n\r\n".utf8)
            }
        guard connection.ask(question, limit: Self.stoppedLimit) == .nothing else { return nil }
        let listener = connection.listener
        if listener.kind == .stoppedAgent { return listener }
        // The process may have been stopped or continued meanwhile.
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

/// A connection to a Unix socket for one request.
private struct ListenerConnection: ~Copyable {
    enum Answer {
        case some
        case nothing
    }

    private let descriptor: Int32
    private let peer: UnixPeer

    /// - Parameter limit: How many seconds to wait while the listener's queue is full; nil does not wait.
    init?(_ path: String, limit: Int?) {
        guard let address = UnixSocketAddress(path: path) else { return nil }
        let descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue) | O_CLOEXEC | (limit == nil ? O_NONBLOCK : 0), 0)
        guard descriptor >= 0 else { return nil }
        if let limit { Self.set(SO_SNDTIMEO, limit, of: descriptor) }
        guard unsafe address.lent(to: { unsafe connect(descriptor, $0, $1) }) == 0, let peer = UnixPeer(of: descriptor) else {
            close(descriptor)
            return nil
        }
        self.descriptor = descriptor
        self.peer = peer
    }

    deinit { close(descriptor) }

    var isTrusted: Bool { peer.userID == geteuid() || peer.userID == 0 }

    var listener: AgentListener { AgentListener(processID: peer.processID) }

    /// Sends bytes and waits for the first byte of the answer. A closed connection also counts as an answer.
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

extension RuntimeDirectory {
    /// The file that an agent locks (flock(2)) for as long as it lives.
    package var lockFile: String { path + "/agent.lock" }

    /// The agent that holds the lock of this folder, by the kernel's table (/proc/locks, proc(5)); nil if none does, if it is in another
    /// PID namespace, or if others can write to the folder. It never waits.
    ///
    /// An agent whose sockets were removed is found by its lock alone.
    package var lockHolder: AgentListener? {
        guard PrivateDirectory(path: path).isTrusted, let lock = FileIdentity(path: lockFile),
            let table = KernelFile.text("/proc/locks")
        else { return nil }
        return Self.lockHolders(of: lock, in: table).lazy.map(AgentListener.init).first {
            // A lock held by another user is ignored, because only the owner can enter this directory.
            $0.isAgent && FileIdentity.owner(ofProcess: $0.processID) == geteuid()
        }
    }

    /// Whether an agent runs here, though its sockets may be lost.
    package var hasAgent: Bool { servesRequests || lockHolder != nil }

    /// The processes that hold a lock of a file, by the text of /proc/locks.
    ///
    /// An inode's number is unique in its own file system only. Some file systems (btrfs, overlayfs) show another device there than stat(2)
    /// does: if no line has the device, those with the inode count.
    package static func lockHolders(of file: FileIdentity, in table: String) -> [Int32] {
        var exact: [Int32] = []
        var similar: [Int32] = []
        for line in table.split(separator: "\n") {
            // “1: FLOCK ADVISORY WRITE 2035 fe:00:1048593 0 EOF”: the process, the device, the inode.
            let fields = line.split(separator: " ")
            guard fields.count > 5, fields[1] == "FLOCK", let process = Int32(fields[4]), process > 0 else { continue }
            if fields[5] == file.kernelName { exact.append(process) }
            if fields[5].hasSuffix(":\(file.inode)") { similar.append(process) }
        }
        return exact.isEmpty ? similar : exact
    }
}

/// A socket of an agent that runs, at which programs do not find it: why, and how to correct it.
package struct SocketLoss: Sendable, Hashable {
    /// What is wrong, as the end of a sentence that names no agent.
    package let fault: String
    /// What to do, as a sentence.
    package let remedy: String
}

extension RuntimeDirectory {
    /// Polls a condition on the lost socket of a running agent for six seconds, because an agent checks its sockets every two seconds and
    /// binds lost ones again.
    ///
    /// - Returns: Whether the condition became true in that time.
    /// - Throws: What the condition throws, and `CancellationError`.
    nonisolated(nonsending) package func waitForLostSocket(
        _ condition: nonisolated(nonsending) () async throws -> Bool
    ) async throws -> Bool {
        try await pollUntil(within: .seconds(6), condition)
    }

    /// Why programs do not find the agent at a socket where it does not listen.
    package func loss(of socket: Socket) -> SocketLoss {
        let path = path(of: socket)
        var status = stat()
        let isThere = unsafe lstat(path, &status) == 0
        let isObstructed = isThere && status.st_mode & S_IFMT != S_IFSOCK
        let listeners = [Socket.requests, .caches].lazy.compactMap(listener(at:))
        let restart = (listeners.first { $0.stopCommand != nil } ?? listeners.first)?.restartCommand ?? AgentListener.restartCommand
        let state = isObstructed ? "the file there is not a socket" : isThere ? "the agent does not listen there" : "the socket is missing"
        return SocketLoss(
            fault: "\(path): \(state)",
            remedy: isObstructed ? "Remove that file, then restart the agent: \(restart)" : "Restart the agent: \(restart)"
        )
    }
}
