internal import Foundation
package import SSOAgentClient

/// Keeps a second agent out of a runtime folder for as long as the first one lives, however it ends (flock(2)).
package struct AgentLock: ~Copyable {
    private let descriptor: Int32

    /// - Throws: ``AgentError``: ``AgentError/Code/alreadyRunning``, or ``AgentError/Code/directoryUnusable``.
    package init(_ runtime: RuntimeDirectory) throws(AgentError) {
        let path = runtime.lockFile
        descriptor = unsafe open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard descriptor >= 0 else {
            throw AgentError(.directoryUnusable, "\(path): the file can't be made: \(unsafe String(cString: strerror(errno))).")
        }
        guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
            throw AgentError(.alreadyRunning, "an agent runs already in \(runtime.path). See: ksso agent status")
        }
    }

    deinit { close(descriptor) }
}
