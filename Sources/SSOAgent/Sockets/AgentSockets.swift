internal import Foundation
internal import KCM
internal import SSOAgentClient
internal import SystemSupport

/// The two sockets of an agent: inherited from systemd or from the previous program of this process, or else bound in the runtime
/// directory.
struct AgentSockets: ~Copyable {
    var kcm: ListeningSocket?
    var api: ListeningSocket?
    /// The paths at which clients find the sockets.
    private(set) var places: [SocketPlace] = []

    /// - Throws: `SocketError` or ``AgentError``, after removing the sockets bound so far.
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
            // In a unit for several users the folder is part of the name: /run/ksso-NAME.kcm.sock.
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
                    "\(socket.path): the socket is neither kcm.sock nor agent.sock; correct the unit that passes it."
                )
            }
        }
    }

    /// Removes the cache socket, because this agent stores no tickets, and every program that connects to a socket that no process serves
    /// would hang.
    private func refuse(_ socket: consuming ListeningSocket, _ options: AgentOptions) {
        socket.file?.unlink(socket.path)
        if let link = FileIdentity(linkAt: options.runtime.kcmSocket) { link.unlink(options.runtime.kcmSocket) }
        options.log("\(socket.path): the socket is removed because, with --system, the tickets stay in the system's default cache.")
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

/// The location of one of the agent's sockets.
struct SocketPlace: Sendable {
    let socket: RuntimeDirectory.Socket
    /// The path that the socket is bound to.
    let path: String
    /// The identity of the file at that path while the socket is this agent's.
    var file: FileIdentity?
    /// Whether the agent bound the socket and removes it at the end. Otherwise systemd bound it.
    var isOwn: Bool
    /// The symbolic link in the runtime directory, if the socket is elsewhere.
    var link: String?
    /// A duplicate descriptor of the agent's own socket, by which the next program of this process keeps listening.
    var copy: Int32?

    /// Whether clients still find the socket.
    enum State {
        case unchanged
        /// The path has no file, or a file on which no process listens.
        case lost
        /// Another process listens at the path.
        case served(by: AgentListener)
    }

    /// Checks the location; it never blocks.
    var state: State {
        if FileIdentity(path: path) != file { return found(at: path) }
        if let link, !leadsToSocket { return found(at: link) }
        return .unchanged
    }

    private func found(at path: String) -> State {
        guard let listener = RuntimeDirectory.listener(atPath: path) else { return .lost }
        // The path leads to the same socket in another way, such as by a link or a bind mount.
        return listener.processID == getpid() ? .unchanged : .served(by: listener)
    }

    private var leadsToSocket: Bool {
        guard let link else { return true }
        return (try? FileManager.default.destinationOfSymbolicLink(atPath: link)) == path
            || file != nil && FileIdentity(path: link, followsLinks: true) == file
    }

    /// Creates the symbolic link in the runtime directory, the only place where programs look for the socket.
    ///
    /// The link stays when the agent stops: a program that follows it makes systemd start the next agent.
    func makeLink() throws(AgentError) {
        guard let link else { return }
        let draft = link + ".new"
        unsafe unlink(draft)
        // Renaming replaces in one step what an agent without systemd may have left there.
        guard unsafe symlink(path, draft) == 0, unsafe rename(draft, link) == 0 else {
            throw AgentError(.directoryUnusable, "\(link): no link to \(path) can be created: \(unsafe String(cString: strerror(errno))).")
        }
    }

    /// Removes the file of the agent's own socket, unless another file has replaced it.
    ///
    /// - Returns: Whether the file was removed.
    @discardableResult
    func removeOwnFile() -> Bool {
        guard isOwn, let file else { return false }
        return file.unlink(path)
    }
}

extension FileIdentity {
    /// The identity of the symbolic link at a path; nil if there is no link.
    fileprivate init?(linkAt path: String) {
        guard (try? FileManager.default.destinationOfSymbolicLink(atPath: path)) != nil else { return nil }
        self.init(path: path)
    }
}

/// The listening descriptors that this process inherited.
package struct InheritedSockets: Sendable {
    /// The descriptors from 3 on that systemd passed (sd_listen_fds(3)); empty if its variables are meant for another process.
    package let descriptors: [Int32]
    /// The agent's own descriptors, if this process ran another version of the program before.
    let own: [Int32]

    /// The variable that names the agent's own descriptors: the process ID and the descriptors, separated by colons.
    static let ownVariable = "KSSO_LISTEN_FDS"

    /// Reads `LISTEN_PID`, `LISTEN_FDS` and ``ownVariable``.
    package init(environment: [String: String], processID: Int32) {
        let words = (environment[Self.ownVariable] ?? "").split(separator: ":").compactMap { Int32($0) }
        own = words.first == processID ? Array(words.dropFirst().prefix(16)) : []
        guard environment["LISTEN_PID"] == String(processID), let count = environment["LISTEN_FDS"].flatMap(Int32.init), count > 0 else {
            descriptors = []
            return
        }
        descriptors = (0..<min(count, 16)).map { 3 + $0 }
    }
}

/// A path by which this process reaches a socket's file even if another file has replaced it at the socket's own path.
///
/// The agent's engine is a client of the agent's own caches, and libkrb5 waits for a cache server without a time limit. With the path that
/// other programs use, it would wait for whatever process listens there next, such as a systemd that starts this agent's successor. The
/// descriptor is opened with `O_PATH` (open(2)), and connect(2) follows its link in /proc.
final class SocketHandle: Sendable {
    private let descriptor: Int32

    /// `O_PATH`, which glibc hides from strict C; it has the same value on every architecture that Swift supports.
    private static let placeOnly: Int32 = 0o10_000_000

    /// Creates a handle that refers to no socket yet; nil if /proc is not mounted.
    init?() {
        descriptor = unsafe open("/", Self.placeOnly | O_CLOEXEC)
        guard descriptor >= 0, unsafe access("/proc/self/fd", F_OK) == 0 else {
            if descriptor >= 0 { close(descriptor) }
            return nil
        }
    }

    deinit { close(descriptor) }

    /// The value for `kcm_socket` in krb5.conf; valid only in this process.
    var path: String { "/proc/self/fd/\(descriptor)" }

    /// Makes the handle refer to the socket that is at a path now.
    ///
    /// - Returns: Whether the path has a file that could be opened.
    func lead(to socket: String) -> Bool {
        let found = unsafe open(socket, Self.placeOnly | O_NOFOLLOW | O_CLOEXEC)
        guard found >= 0 else { return false }
        defer { close(found) }
        return dup2(found, descriptor) >= 0 && fcntl(descriptor, F_SETFD, FD_CLOEXEC) == 0
    }
}
