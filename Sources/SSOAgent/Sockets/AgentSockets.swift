internal import Foundation
internal import KCM
internal import SSOAgentClient
internal import UnixSystem

/// The two sockets of an agent: those that systemd or its predecessor handed over, the rest made in the runtime folder.
struct AgentSockets: ~Copyable {
    var kcm: ListeningSocket?
    var api: ListeningSocket?
    /// Where clients find them.
    private(set) var places: [SocketPlace] = []

    /// - Throws: `SocketError` or ``AgentError``; what was made here until then is removed.
    init(_ options: AgentOptions) throws {
        do {
            try takeInherited(options)
            if kcm == nil, options.mode == .agent { kcm = try bind(.caches, options.runtime.kcmSocket) }
            if api == nil { api = try bind(.requests, options.runtime.apiSocket) }
        } catch {
            for place in places {
                place.copy.map { _ = close($0) }
                place.removeOwnFile()
            }
            throw error
        }
    }

    private mutating func takeInherited(_ options: AgentOptions) throws {
        let inherited = InheritedSockets(environment: options.environment, processID: getpid())
        for (descriptor, isOwn) in inherited.descriptors.map({ ($0, false) }) + inherited.own.map({ ($0, true) }) {
            let socket = try ListeningSocket(inherited: descriptor)
            // In a unit for several users the folder is in the name: /run/ksso-NAME.kcm.sock.
            if socket.path.hasSuffix("kcm.sock") {
                guard options.mode == .agent else {
                    refuse(socket, options)
                    continue
                }
                guard socket.file != nil else { continue }
                places.append(try Self.place(of: socket, .caches, isOwn, foundAt: options.runtime.kcmSocket))
                kcm = consume socket
            } else if socket.path.hasSuffix("agent.sock") {
                guard socket.file != nil else { continue }
                places.append(try Self.place(of: socket, .requests, isOwn, foundAt: options.runtime.apiSocket))
                api = consume socket
            } else {
                throw AgentError(
                    .unknownSocket,
                    "\(socket.path): this is neither kcm.sock nor agent.sock; correct the unit that hands it over."
                )
            }
        }
    }

    /// An agent that keeps no tickets takes no connection for them, and a socket that nothing serves would hang each program that finds
    /// it.
    private func refuse(_ socket: consuming ListeningSocket, _ options: AgentOptions) {
        socket.file?.unlink(socket.path)
        if let link = FileIdentity(linkAt: options.runtime.kcmSocket) { link.unlink(options.runtime.kcmSocket) }
        options.log("\(socket.path): the socket is removed, because with --system the tickets stay in the system's default cache.")
    }

    private mutating func bind(_ socket: RuntimeDirectory.Socket, _ path: String) throws -> ListeningSocket {
        if let link = FileIdentity(linkAt: path) { link.unlink(path) }
        let listening = try ListeningSocket.bind(path: path)
        places.append(SocketPlace(socket: socket, path: path, file: listening.file, isOwn: true, copy: listening.duplicate()?.take()))
        return listening
    }

    private static func place(
        of socket: borrowing ListeningSocket,
        _ kind: RuntimeDirectory.Socket,
        _ isOwn: Bool,
        foundAt path: String
    ) throws(AgentError) -> SocketPlace {
        let place = SocketPlace(
            socket: kind,
            path: socket.path,
            file: socket.file,
            isOwn: isOwn,
            link: path == socket.path ? nil : path,
            copy: isOwn ? socket.duplicate()?.take() : nil
        )
        try place.makeLink()
        return place
    }
}

/// Where clients find one of an agent's sockets.
struct SocketPlace: Sendable {
    let socket: RuntimeDirectory.Socket
    /// What the socket is bound to.
    let path: String
    /// The file that is there while the socket is this agent's.
    var file: FileIdentity?
    /// Whether the agent bound it, and removes it at the end. Otherwise it is systemd's.
    var isOwn: Bool
    /// The path in the runtime folder that leads there, if the socket is elsewhere.
    var link: String?
    /// A descriptor of the agent's own socket, by which the next program of this process goes on listening.
    var copy: Int32?

    /// What has become of it.
    enum State {
        case unchanged
        /// Clients find nothing there, or a file that no process listens at.
        case lost
        /// Clients find another process.
        case served(by: AgentListener)
    }

    /// Looks; it never waits.
    var state: State {
        if FileIdentity(path: path) != file { return found(at: path) }
        if let link, !leadsToSocket { return found(at: link) }
        return .unchanged
    }

    private func found(at path: String) -> State {
        guard let listener = RuntimeDirectory.listener(atPath: path) else { return .lost }
        // The same socket by another way, such as a link or a bind mount.
        return listener.processID == getpid() ? .unchanged : .served(by: listener)
    }

    private var leadsToSocket: Bool {
        guard let link else { return true }
        return (try? FileManager.default.destinationOfSymbolicLink(atPath: link)) == path
            || file != nil && FileIdentity(path: link, followsLinks: true) == file
    }

    /// Programs know the runtime folder alone: a socket that is elsewhere gets a link there.
    ///
    /// The link stays when the agent ends: a program that follows it has systemd start the next one.
    func makeLink() throws(AgentError) {
        guard let link else { return }
        let draft = link + ".new"
        unsafe unlink(draft)
        // In one step, and in place of what an agent without systemd may have left there.
        guard unsafe symlink(path, draft) == 0, unsafe rename(draft, link) == 0 else {
            throw AgentError(.directoryUnusable, "\(link): no link to \(path) can be made: \(unsafe String(cString: strerror(errno))).")
        }
    }

    /// Removes the agent's own socket, and leaves a file that has taken its place.
    ///
    /// - Returns: Whether it was there.
    @discardableResult
    func removeOwnFile() -> Bool {
        guard isOwn, let file else { return false }
        return file.unlink(path)
    }
}

extension FileIdentity {
    /// The symbolic link at a path; nil if something else is there, or nothing.
    fileprivate init?(linkAt path: String) {
        guard (try? FileManager.default.destinationOfSymbolicLink(atPath: path)) != nil else { return nil }
        self.init(path: path)
    }
}

/// The listening descriptors that this process was started with.
struct InheritedSockets: Sendable {
    /// Those that systemd has bound (sd_listen_fds(3)): from 3 on; none where the variables are meant for another process.
    let descriptors: [Int32]
    /// Those of the agent that this process was before it started its program again.
    let own: [Int32]

    /// The variable that names the agent's own: the process, then a descriptor each.
    static let ownVariable = "KSSO_LISTEN_FDS"

    /// What `LISTEN_PID` and `LISTEN_FDS` say, and ``ownVariable``.
    init(environment: [String: String], processID: Int32) {
        let words = (environment[Self.ownVariable] ?? "").split(separator: ":").compactMap { Int32($0) }
        own = words.first == processID ? Array(words.dropFirst().prefix(16)) : []
        guard environment["LISTEN_PID"] == String(processID), let count = environment["LISTEN_FDS"].flatMap(Int32.init), count > 0 else {
            descriptors = []
            return
        }
        descriptors = (0..<min(count, 16)).map { 3 + $0 }
    }
}

/// A path by which this process reaches a socket's file even when another file has taken the socket's own path.
///
/// The agent's engine is a client of the agent's own caches, and libkrb5 waits for a cache server without a limit. If it went by the path
/// that other programs use, it would wait for whatever process listens there next, such as a systemd that starts this agent's successor.
/// The descriptor is open for its place alone (`O_PATH`, open(2)), and connect(2) follows the link that /proc has for it.
final class SocketHandle: Sendable {
    private let descriptor: Int32

    /// `O_PATH`, which glibc hides from strict C; the same number on every architecture that Swift runs on.
    private static let placeOnly: Int32 = 0o10_000_000

    /// A handle that leads to no socket yet; nil if /proc is not there.
    init?() {
        descriptor = unsafe open("/", Self.placeOnly | O_CLOEXEC)
        guard descriptor >= 0, unsafe access("/proc/self/fd", F_OK) == 0 else {
            if descriptor >= 0 { close(descriptor) }
            return nil
        }
    }

    deinit { close(descriptor) }

    /// For krb5.conf's `kcm_socket`, in this process alone.
    var path: String { "/proc/self/fd/\(descriptor)" }

    /// Makes it lead to the socket that is at a path now.
    ///
    /// - Returns: Whether there is a file.
    func lead(to socket: String) -> Bool {
        let found = unsafe open(socket, Self.placeOnly | O_NOFOLLOW | O_CLOEXEC)
        guard found >= 0 else { return false }
        defer { close(found) }
        return dup2(found, descriptor) >= 0 && fcntl(descriptor, F_SETFD, FD_CLOEXEC) == 0
    }
}
