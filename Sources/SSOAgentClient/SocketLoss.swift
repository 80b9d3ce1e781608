internal import Foundation

/// A socket of an agent that runs, at which programs do not find it: why, and how to correct it.
package struct SocketLoss: Sendable, Hashable {
    /// What is wrong, as the end of a sentence that names no agent.
    package let fault: String
    /// What to do, as a sentence.
    package let remedy: String
}

extension RuntimeDirectory {
    /// Why programs do not find the agent at a socket where it does not listen.
    package func loss(of socket: Socket) -> SocketLoss {
        let path = path(of: socket)
        var status = stat()
        let isThere = unsafe lstat(path, &status) == 0
        let isObstructed = isThere && status.st_mode & S_IFMT != S_IFSOCK
        let listeners = [Socket.requests, .caches].lazy.compactMap(listener(at:))
        let restart = (listeners.first { $0.stopCommand != nil } ?? listeners.first)?.restartCommand ?? AgentListener.restartCommand
        return SocketLoss(
            fault:
                "\(path): \(isObstructed ? "something else than a socket is there" : isThere ? "the agent does not listen there" : "the socket is missing")",
            remedy: isObstructed ? "Remove what is there, then restart the agent: \(restart)" : "Restart the agent: \(restart)"
        )
    }
}
