internal import Foundation
internal import KCM
internal import SSOAgentClient

/// The two sockets of an agent: those that systemd handed over, the rest made in the runtime folder.
struct AgentSockets: ~Copyable {
    var kcm: ListeningSocket?
    var api: ListeningSocket?
    /// Those made here, which are removed at the end; the others are systemd's.
    private(set) var ownPaths: [String] = []

    init(_ options: AgentOptions) throws {
        let inherited = InheritedSockets(environment: options.environment, processID: getpid())
        for descriptor in inherited.descriptors {
            let socket = try ListeningSocket(inherited: descriptor)
            // In a unit for several users the folder is in the name: /run/ksso-NAME.kcm.sock.
            if socket.path.hasSuffix("kcm.sock") {
                try Self.link(options.runtime.kcmSocket, to: socket.path)
                kcm = consume socket
            } else if socket.path.hasSuffix("agent.sock") {
                try Self.link(options.runtime.apiSocket, to: socket.path)
                api = consume socket
            } else {
                throw AgentError(
                    .unknownSocket,
                    "\(socket.path): this is neither kcm.sock nor agent.sock; correct the unit that hands it over."
                )
            }
        }
        if kcm == nil, options.mode == .agent {
            Self.removeLink(options.runtime.kcmSocket)
            kcm = try ListeningSocket.bind(path: options.runtime.kcmSocket)
            ownPaths.append(options.runtime.kcmSocket)
        }
        if api == nil {
            Self.removeLink(options.runtime.apiSocket)
            do {
                api = try ListeningSocket.bind(path: options.runtime.apiSocket)
            } catch {
                for path in ownPaths { try? FileManager.default.removeItem(atPath: path) }
                throw error
            }
            ownPaths.append(options.runtime.apiSocket)
        }
    }

    /// The user's own programs, this one included, know the runtime folder alone: a socket that is elsewhere gets a link there.
    ///
    /// The link stays when the agent ends: who follows it has systemd start the next one.
    private static func link(_ path: String, to socket: String) throws(AgentError) {
        guard path != socket else { return }
        let draft = path + ".new"
        unsafe unlink(draft)
        // In one step, and in place of what an agent without systemd may have left there.
        guard unsafe symlink(socket, draft) == 0, unsafe rename(draft, path) == 0 else {
            throw AgentError(.directoryUnusable, "\(path): no link to \(socket) can be made: \(unsafe String(cString: strerror(errno))).")
        }
    }

    private static func removeLink(_ path: String) {
        let files = FileManager.default
        if (try? files.destinationOfSymbolicLink(atPath: path)) != nil { try? files.removeItem(atPath: path) }
    }
}
