import Foundation

/// Runs a command, found in the path, to its end and discards its output: for conditions of tests, which cannot wait asynchronously.
///
/// Kills a command that takes longer than a minute, which would otherwise hang the whole run.
///
/// Foundation's `Process` reads past the end of a directory entry of /proc/self/fd, which the address sanitizer reports when many
/// descriptors are open.
///
/// - Returns: Whether the command exited with status 0.
public func succeeds(_ command: [String], within limit: Duration = .seconds(60)) -> Bool {
    var arguments: [UnsafeMutablePointer<CChar>?] = command.map { strdup($0) } + [nil]
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer {
        arguments.forEach { free($0) }
        posix_spawn_file_actions_destroy(&actions)
    }
    for descriptor in [STDOUT_FILENO, STDERR_FILENO] {
        posix_spawn_file_actions_addopen(&actions, descriptor, "/dev/null", O_WRONLY, 0)
    }
    var process: pid_t = 0
    var status: Int32 = 0
    guard posix_spawnp(&process, command[0], &actions, nil, &arguments, environ) == 0 else { return false }
    let end = ContinuousClock.now + limit
    while true {
        let exited = waitpid(process, &status, WNOHANG)
        if exited == process { return status == 0 }
        guard exited == 0 || errno == EINTR else { return false }
        if ContinuousClock.now >= end { kill(process, SIGKILL) }
        poll(nil, 0, 2)
    }
}
