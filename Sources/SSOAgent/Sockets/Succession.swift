internal import Foundation
package import SSOAgentClient
internal import SystemSupport

extension Agent {
    /// The time limit for a predecessor to stop after SIGTERM; longer than a complete shutdown takes.
    private static let predecessorLimit = Duration.seconds(18)
    /// The time limit for a predecessor to disappear after SIGKILL.
    private static let killLimit = Duration.seconds(5)

    /// Takes the lock of the runtime directory.
    ///
    /// If systemd starts this agent, systemd has bound its sockets in place of those of a running agent. That agent no longer serves any
    /// program, so it is stopped, and this agent serves its tickets, which are on disk.
    ///
    /// - Throws: ``AgentError``: `alreadyRunning` if systemd did not start this agent, or if the other agent does not stop.
    func takeLock() async throws -> AgentLock {
        let directory = options.runtime.path
        do throws(AgentError) {
            return try AgentLock(options.runtime)
        } catch {
            let inherited = InheritedSockets(environment: options.environment, processID: getpid())
            guard error.code == .alreadyRunning, !inherited.descriptors.isEmpty else { throw error }
        }
        let predecessor = options.runtime.lockHolder
        if let predecessor {
            journal.note(
                "\(directory): systemd starts this agent in place of another one (process \(predecessor.processID)), which is terminated."
            )
            if kill(predecessor.processID, SIGTERM) != 0 {
                journal.failure("process \(predecessor.processID) cannot be terminated: \(unsafe String(cString: strerror(errno))).")
            }
            // A suspended process receives the SIGTERM when it continues.
            kill(predecessor.processID, SIGCONT)
        }
        if let lock = try await lock(within: Self.predecessorLimit) { return lock }
        if let predecessor, options.runtime.lockHolder?.processID == predecessor.processID {
            journal.failure("the terminated agent (process \(predecessor.processID)) still runs, so it is killed.")
            kill(predecessor.processID, SIGKILL)
            if let lock = try await lock(within: Self.killLimit) { return lock }
        }
        throw AgentError(
            .alreadyRunning,
            "another agent holds the lock in \(directory) and does not exit. See: fuser \(directory)/agent.lock"
        )
    }

    private func lock(within limit: Duration) async throws -> AgentLock? {
        var lock: AgentLock?
        _ = try await pollUntil(within: limit) {
            do throws(AgentError) {
                lock = try AgentLock(options.runtime)
                return true
            } catch {
                guard error.code == .alreadyRunning else { throw error }
                return false
            }
        }
        return lock
    }

    /// Stops the agent when an upgrade has replaced its program file, so that the new program serves the clients.
    func watchProgram() async {
        guard var program = ProgramFile() else { return }
        while (try? await Task.sleep(for: Self.programInterval)) != nil {
            guard program.wasReplaced() else { continue }
            journal.note("\(program.path) was replaced, so the agent restarts with the new program.")
            return stop(isSystemds ? .replaced : .restart(path: program.path, sockets: files.inheritance))
        }
    }

    /// How often the program file is checked; an upgrade need not be detected at once.
    private static let programInterval = Duration.seconds(5)

    /// Whether systemd started this process and starts the next one.
    private var isSystemds: Bool {
        let process = "\(getpid())"
        return options.environment["SYSTEMD_EXEC_PID"] == process || options.environment["LISTEN_PID"] == process
    }

    /// The variable that passes the sockets' descriptors to a program that this process executes.
    package static let socketsVariable = InheritedSockets.ownVariable

    /// Waits for work that may block on another process's cache, because libkrb5 has no time limit there. Work that exceeds the limit
    /// continues in the background.
    ///
    /// - Returns: Whether the work has finished.
    @discardableResult
    static func wait(atMost limit: Duration, _ work: @escaping @Sendable () async -> Void) async -> Bool {
        await firstResult(within: limit, cancelsLateWork: false, work) != nil
    }
}

/// Keeps a second agent out of a runtime folder for as long as the first one lives, however it ends (flock(2)).
package struct AgentLock: ~Copyable {
    private let descriptor: Int32

    /// - Throws: ``AgentError``: ``AgentError/Code/alreadyRunning``, or ``AgentError/Code/directoryUnusable``.
    package init(_ runtime: RuntimeDirectory) throws(AgentError) {
        let path = runtime.lockFile
        descriptor = unsafe open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard descriptor >= 0 else {
            throw AgentError(.directoryUnusable, "\(path): the file cannot be created: \(unsafe String(cString: strerror(errno))).")
        }
        guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
            throw AgentError(.alreadyRunning, "an agent is already running in \(runtime.path). See: ksso agent status")
        }
    }

    deinit { close(descriptor) }
}

/// The file that this process was started from, used to detect that an upgrade has replaced it.
package struct ProgramFile: Sendable {
    /// The path of the file when the process started.
    package let path: String
    private let started: FileIdentity
    /// Who owned the file when the process started.
    private let owner: UInt32?
    private var candidate: FileIdentity?

    /// Finds the file of a process; nil if /proc does not name it.
    ///
    /// - Parameter link: The link of the process in /proc. It leads to the program that runs, even if another file has its path by now.
    package init?(link: String = "/proc/self/exe") {
        guard let name = try? FileManager.default.destinationOfSymbolicLink(atPath: link),
            let running = FileIdentity(path: link, followsLinks: true)
        else { return nil }
        started = running
        owner = FileTrust.owner(ofFile: link)
        if FileIdentity(path: name) == running {
            path = name
        } else if name.hasSuffix(Self.deleted) {
            // An upgrade was faster than this process's start.
            path = String(name.dropLast(Self.deleted.count))
        } else {
            return nil
        }
    }

    /// What Linux appends to the path of a program whose file was removed or replaced (proc_pid_exe(5)).
    private static let deleted = " (deleted)"

    /// Checks the file. A replacement counts only if two checks find the same file, because a program that is being copied is not complete.
    ///
    /// - Returns: Whether another program has replaced it.
    package mutating func wasReplaced() -> Bool {
        guard let file = FileIdentity(path: path), file != started, unsafe access(path, X_OK) == 0, isTrusted else {
            candidate = nil
            return false
        }
        defer { candidate = file }
        return candidate == file
    }

    /// Whether the file may be executed with the rights of this process: it belongs to this user, to root or to the owner of the running
    /// program, and not every user can write to it.
    private var isTrusted: Bool { FileTrust.owner(ofFile: path).map { [0, geteuid(), owner].contains($0) } ?? false }
}
