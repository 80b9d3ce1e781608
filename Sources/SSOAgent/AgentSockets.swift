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
                kcm = consume socket
            } else if socket.path.hasSuffix("agent.sock") {
                api = consume socket
            } else {
                throw AgentError(
                    .unknownSocket,
                    "\(socket.path): this is neither kcm.sock nor agent.sock; correct the unit that hands it over."
                )
            }
        }
        if kcm == nil, options.mode == .agent {
            kcm = try ListeningSocket.bind(path: options.runtime.kcmSocket)
            ownPaths.append(options.runtime.kcmSocket)
        }
        if api == nil {
            api = try ListeningSocket.bind(path: options.runtime.apiSocket)
            ownPaths.append(options.runtime.apiSocket)
        }
    }
}
