internal import Foundation
internal import Kerberos

/// A child process with a socket as its standard input and output. It is started without a shell and only with the given environment
/// variables.
///
/// Its methods block, so call them only on a thread that may block.
struct ChildProgram: Sendable {
    let process: pid_t
    /// The parent's end of the socket. The owner closes it.
    let connection: Int32

    /// Starts the program; nil if that fails.
    ///
    /// - Parameters:
    ///   - program: The program's path.
    ///   - showsErrors: Whether the program inherits the standard error of this process.
    init?(_ program: String, _ arguments: [String] = [], environment: [String: String], showsErrors: Bool) {
        var ends: [Int32] = [-1, -1]
        let type = Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue)
        guard unsafe socketpair(AF_UNIX, type, 0, &ends) == 0 else { return nil }
        defer { close(ends[1]) }
        guard let process = Self.start([program] + arguments, environment, connection: ends[1], showsErrors) else {
            close(ends[0])
            return nil
        }
        (self.process, connection) = (process, ends[0])
    }

    private static func start(
        _ command: [String],
        _ environment: [String: String],
        connection: Int32,
        _ showsErrors: Bool
    ) -> pid_t? {
        var actions = unsafe posix_spawn_file_actions_t()
        var attributes = posix_spawnattr_t()
        unsafe posix_spawn_file_actions_init(&actions)
        unsafe posix_spawnattr_init(&attributes)
        defer {
            unsafe posix_spawn_file_actions_destroy(&actions)
            unsafe posix_spawnattr_destroy(&attributes)
        }
        for end in [STDIN_FILENO, STDOUT_FILENO] { unsafe posix_spawn_file_actions_adddup2(&actions, connection, end) }
        if !showsErrors { unsafe posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0) }
        // The program does not inherit ignored or blocked signals.
        var (none, all) = (sigset_t(), sigset_t())
        unsafe sigemptyset(&none)
        unsafe sigfillset(&all)
        unsafe posix_spawnattr_setsigmask(&attributes, &none)
        unsafe posix_spawnattr_setsigdefault(&attributes, &all)
        unsafe posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF))
        let words = unsafe command.map { unsafe strdup($0) } + [nil]
        let variables = unsafe environment.map { unsafe strdup("\($0.key)=\($0.value)") } + [nil]
        defer { unsafe (words + variables).forEach { unsafe free($0) } }
        var process: pid_t = 0
        return unsafe posix_spawn(&process, command[0], &actions, &attributes, words, variables) == 0 ? process : nil
    }

    /// Waits until the socket is readable or writable; returns false if the deadline passes first.
    func isReady(_ events: Int32, until deadline: ContinuousClock.Instant) -> Bool {
        Self.isReady(connection, events, until: deadline)
    }

    /// Waits until the program exits and returns its status (waitpid(2)); nil if the deadline passes first.
    func status(until deadline: ContinuousClock.Instant) -> Int32? {
        let descriptor = ProcessDescriptor.open(process)
        if descriptor >= 0 {
            _ = Self.isReady(descriptor, POLLIN, until: deadline)
            close(descriptor)
        }
        var status: Int32 = 0
        while true {
            let ended = unsafe waitpid(process, &status, WNOHANG)
            if ended < 0, errno == EINTR { continue }
            return ended == process ? status : nil
        }
    }

    private static func isReady(_ descriptor: Int32, _ events: Int32, until deadline: ContinuousClock.Instant) -> Bool {
        while true {
            let left = max(.zero, deadline - .now)
            var request = pollfd(fd: descriptor, events: Int16(events), revents: 0)
            let count = unsafe poll(&request, 1, Int32(clamping: Int((left / .milliseconds(1)).rounded(.up))))
            if count < 0, errno == EINTR { continue }
            return count > 0
        }
    }
}
