internal import Foundation

#if canImport(Glibc)
    package import Glibc
#elseif canImport(Musl)
    package import Musl
#else
    package import Darwin
#endif

/// Starts programs (posix_spawn(3)) without a shell.
///
/// A program gets the descriptors 0, 1 and 2 and no others, because a lock or a pipe of the caller's parent would otherwise stay open as
/// long as the program runs. It inherits no blocked or ignored signal, and only the given environment.
package enum ChildProcess {
    /// What one of the descriptors 0, 1 and 2 refers to in the program.
    package enum Stream {
        /// The same as in this process.
        case inherited
        /// /dev/null.
        case null
        /// A copy of a descriptor of this process.
        case descriptor(Int32)
        /// A file to which the program appends, created with mode 0600.
        case log(String)
    }

    /// Why a program could not be started.
    package struct Failure: Error {
        /// The text of the system's error (strerror(3)).
        package let reason: String
    }

    /// Starts a program and returns its process ID. The caller must wait for the process (waitpid(2)).
    ///
    /// - Parameters:
    ///   - program: The path of the program.
    ///   - arguments: The arguments, with the name of the program first.
    ///   - environment: The whole environment.
    ///   - kept: A descriptor that stays open in the program, as number 3.
    ///   - isSessionLeader: Whether the program runs in a session of its own, without this process's terminal (setsid(2)).
    package static func start(
        _ program: String,
        _ arguments: [String],
        environment: [String: String],
        input: Stream = .null,
        output: Stream,
        errors: Stream,
        keeping kept: Int32? = nil,
        asSessionLeader isSessionLeader: Bool = false
    ) throws(Failure) -> pid_t {
        #if canImport(Darwin)
            var actions: posix_spawn_file_actions_t?
            var attributes: posix_spawnattr_t?
        #else
            var actions = unsafe posix_spawn_file_actions_t()
            var attributes = posix_spawnattr_t()
        #endif
        unsafe posix_spawn_file_actions_init(&actions)
        unsafe posix_spawnattr_init(&attributes)
        defer {
            unsafe posix_spawn_file_actions_destroy(&actions)
            unsafe posix_spawnattr_destroy(&attributes)
        }
        for (number, stream) in [(STDIN_FILENO, input), (STDOUT_FILENO, output), (STDERR_FILENO, errors)] {
            switch stream {
            case .inherited: break
            case .null:
                unsafe posix_spawn_file_actions_addopen(&actions, number, "/dev/null", number == STDIN_FILENO ? O_RDONLY : O_WRONLY, 0)
            case .descriptor(let descriptor): unsafe posix_spawn_file_actions_adddup2(&actions, descriptor, number)
            case .log(let path): unsafe posix_spawn_file_actions_addopen(&actions, number, path, O_WRONLY | O_CREAT | O_APPEND, 0o600)
            }
        }
        if let kept { unsafe posix_spawn_file_actions_adddup2(&actions, kept, 3) }
        let firstClosed: Int32 = kept == nil ? 3 : 4
        // What another thread opens from now on is closed by FD_CLOEXEC, as everywhere in this package.
        for name in (try? FileManager.default.contentsOfDirectory(atPath: "/dev/fd")) ?? [] {
            if let number = Int32(name), number >= firstClosed { unsafe posix_spawn_file_actions_addclose(&actions, number) }
        }
        var (none, all) = (sigset_t(), sigset_t())
        unsafe sigemptyset(&none)
        unsafe sigfillset(&all)
        unsafe posix_spawnattr_setsigmask(&attributes, &none)
        unsafe posix_spawnattr_setsigdefault(&attributes, &all)
        let signals = Int16(POSIX_SPAWN_SETSIGMASK) | Int16(POSIX_SPAWN_SETSIGDEF)
        unsafe posix_spawnattr_setflags(&attributes, isSessionLeader ? signals | newSession : signals)
        let words = unsafe arguments.map { unsafe strdup($0) } + [nil]
        let variables = unsafe environment.map { unsafe strdup("\($0.key)=\($0.value)") } + [nil]
        defer { unsafe (words + variables).forEach { unsafe free($0) } }
        var process: pid_t = 0
        let code = unsafe posix_spawn(&process, program, &actions, &attributes, words, variables)
        guard code == 0 else { throw Failure(reason: unsafe String(cString: strerror(code))) }
        return process
    }

    /// `POSIX_SPAWN_SETSID`, which glibc hides from strict C.
    #if canImport(Darwin)
        private static let newSession: Int16 = 0x400
    #else
        private static let newSession: Int16 = 0x80
    #endif
}
