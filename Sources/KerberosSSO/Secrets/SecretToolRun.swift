internal import Foundation
internal import Kerberos

/// One run of `secret-tool`: no shell; a secret goes to its standard input, and one comes from its standard output.
///
/// It blocks: it belongs to a thread that may wait.
struct SecretToolRun: Sendable {
    /// How it ended.
    struct Outcome: Sendable {
        /// The status of waitpid(2).
        let status: Int32
        let output: Secret
    }

    let program: String
    let arguments: [String]
    let environment: [String: String]
    /// A desktop may ask for the password of its keyring meanwhile.
    var patience = Duration.seconds(60)

    private static let limit = 4096

    /// Runs it to its end. Nil where it can't be run, says too much, or does not end in time: it is killed then.
    func outcome(input: Secret?) -> Outcome? {
        var ends: [Int32] = [-1, -1]
        guard unsafe socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0, &ends) == 0 else { return nil }
        let process = start(connection: ends[1])
        close(ends[1])
        defer { close(ends[0]) }
        guard let process else { return nil }
        let deadline = ContinuousClock.now + patience
        if let input { Self.send(input, ends[0]) }
        shutdown(ends[0], Int32(SHUT_WR))
        let output = Self.read(ends[0], until: deadline)
        // At the end of its output it is about to end; one that lingers is ended, and one that has ended keeps its status.
        if output == nil || !Self.hasEnded(process, until: deadline) { kill(process, SIGKILL) }
        var status: Int32 = 0
        while unsafe waitpid(process, &status, 0) < 0 { guard errno == EINTR else { return nil } }
        return output.map { Outcome(status: status, output: $0) }
    }

    private func start(connection: Int32) -> pid_t? {
        var actions = unsafe posix_spawn_file_actions_t()
        var attributes = posix_spawnattr_t()
        unsafe posix_spawn_file_actions_init(&actions)
        unsafe posix_spawnattr_init(&attributes)
        defer {
            unsafe posix_spawn_file_actions_destroy(&actions)
            unsafe posix_spawnattr_destroy(&attributes)
        }
        for end in [STDIN_FILENO, STDOUT_FILENO] { unsafe posix_spawn_file_actions_adddup2(&actions, connection, end) }
        unsafe posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0)
        // What this process ignores or blocks, the program need not.
        var (none, all) = (sigset_t(), sigset_t())
        unsafe sigemptyset(&none)
        unsafe sigfillset(&all)
        unsafe posix_spawnattr_setsigmask(&attributes, &none)
        unsafe posix_spawnattr_setsigdefault(&attributes, &all)
        unsafe posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF))
        let words = unsafe ([program] + arguments).map { unsafe strdup($0) } + [nil]
        let variables = unsafe environment.map { unsafe strdup("\($0.key)=\($0.value)") } + [nil]
        defer { unsafe (words + variables).forEach { unsafe free($0) } }
        var process: pid_t = 0
        return unsafe posix_spawn(&process, program, &actions, &attributes, words, variables) == 0 ? process : nil
    }

    /// It is short enough for the socket to take it at once.
    private static func send(_ secret: Secret, _ connection: Int32) {
        unsafe secret.withUnsafeBytes { bytes in
            _ = unsafe Foundation.send(connection, bytes.baseAddress, bytes.count, Int32(Int(MSG_NOSIGNAL) | Int(MSG_DONTWAIT)))
        }
    }

    private static func read(_ connection: Int32, until deadline: ContinuousClock.Instant) -> Secret? {
        var bytes = [UInt8](repeating: 0, count: limit)
        defer { unsafe bytes.withUnsafeMutableBytes { if let start = $0.baseAddress { unsafe explicit_bzero(start, $0.count) } } }
        var count = 0
        while count < limit {
            guard waits(for: connection, until: deadline) else { return nil }
            let part = unsafe bytes.withUnsafeMutableBytes {
                unsafe Foundation.read(connection, $0.baseAddress?.advanced(by: count), $0.count - count)
            }
            if part == 0 { return Secret(bytes: bytes[..<count]) }
            guard part > 0 || errno == EINTR else { return nil }
            count += max(part, 0)
        }
        return nil
    }

    private static func hasEnded(_ process: pid_t, until deadline: ContinuousClock.Instant) -> Bool {
        let descriptor = ProcessDescriptor.open(process)
        // An old kernel's program is taken at its word.
        guard descriptor >= 0 else { return true }
        defer { close(descriptor) }
        return waits(for: descriptor, until: deadline)
    }

    /// Waits until there is something to read, or an end.
    private static func waits(for descriptor: Int32, until deadline: ContinuousClock.Instant) -> Bool {
        while true {
            let left = deadline - .now
            guard left > .zero else { return false }
            var request = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
            let ready = unsafe poll(&request, 1, Int32(left / .milliseconds(1)) + 1)
            if ready > 0 { return true }
            guard ready == 0 || errno == EINTR else { return false }
        }
    }
}
