internal import Foundation

/// Keeps a second agent out of a runtime folder for as long as the first one lives, however it ends (flock(2)).
struct AgentLock: ~Copyable {
    private let descriptor: Int32

    /// - Throws: ``AgentError``: ``AgentError/Code/alreadyRunning``, or ``AgentError/Code/directoryUnusable``.
    init(directory: String) throws(AgentError) {
        let path = directory + "/agent.lock"
        descriptor = unsafe open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard descriptor >= 0 else {
            throw AgentError(.directoryUnusable, "\(path): the file can't be made: \(unsafe String(cString: strerror(errno))).")
        }
        guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
            throw AgentError(.alreadyRunning, "an agent runs already in \(directory). See: ksso agent status")
        }
    }

    deinit { close(descriptor) }
}
