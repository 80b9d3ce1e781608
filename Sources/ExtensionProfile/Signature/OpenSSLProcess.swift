import Foundation

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// Runs the machine's openssl in a private directory to verify one signature.
///
/// Uses no shell and passes no variable of this process. All runs share one deadline. Input and output are files, so that the arguments
/// contain nothing secret or long.
struct OpenSSLProcess: ~Copyable {
    /// The result of a run.
    struct Outcome {
        let status: Int32
        /// The standard output and standard error.
        let text: String

        var isSuccess: Bool { status == 0 }
    }

    /// Why a signature cannot be verified.
    struct Failure: Error {
        let reason: String
    }

    static let program = "/usr/bin/openssl"
    /// The time limit of all runs together. Each takes milliseconds.
    static let limit = Duration.seconds(20)
    private static let outputLimit = 1 << 16

    let folder: String
    private let program: String
    private let end: ContinuousClock.Instant

    init(program: String = Self.program, limit: Duration = Self.limit) throws(Failure) {
        (self.program, end) = (program, .now + limit)
        let template = FileManager.default.temporaryDirectory.path + "/ksso-signature-XXXXXX"
        var bytes = Array(template.utf8CString)
        let isMade = unsafe bytes.withUnsafeMutableBufferPointer { buffer in
            guard let start = buffer.baseAddress else { return false }
            return unsafe mkdtemp(start) != nil
        }
        guard isMade else { throw Failure(reason: "no directory can be created in \(FileManager.default.temporaryDirectory.path)") }
        folder = String(decoding: bytes.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    deinit { try? FileManager.default.removeItem(atPath: folder) }

    /// The path of a file in the directory.
    func path(_ name: String) -> String { "\(folder)/\(name)" }

    /// Writes a file to the directory.
    func write(_ data: Data, to name: String) throws(Failure) {
        do {
            try data.write(to: URL(filePath: path(name)))
        } catch {
            throw Failure(reason: "\(path(name)) cannot be written")
        }
    }

    /// The contents of a file that a run created in the directory; nil if there is none.
    func read(_ name: String) -> Data? { FileManager.default.contents(atPath: path(name)) }

    /// Runs openssl until it exits.
    func run(_ arguments: [String]) throws(Failure) -> Outcome {
        let (output, input) = try Self.channel()
        defer { close(output) }
        let started = Result { [program] () throws(Failure) in try Self.start(program, arguments, output: input) }
        close(input)
        let process = try started.get()
        let text = Self.read(output, until: end)
        let status = try waitForExit(of: process, isOverdue: text == nil)
        guard let text, let status else { throw Failure(reason: "\(program) does not exit") }
        return Outcome(status: status, text: text)
    }

    /// Returns the status of a process when it exits. At the deadline, kills the process and returns nil.
    ///
    /// - Parameter isOverdue: Whether the deadline has passed.
    private func waitForExit(of process: pid_t, isOverdue: Bool) throws(Failure) -> Int32? {
        var isKilled = false
        while true {
            if !isKilled, isOverdue || end <= .now {
                kill(process, SIGKILL)
                isKilled = true
            }
            var status: Int32 = 0
            let exited = unsafe waitpid(process, &status, isKilled ? 0 : WNOHANG)
            if exited == process { return isKilled ? nil : status }
            guard exited == 0 || errno == EINTR else { throw Failure(reason: "the exit of \(program) cannot be observed") }
            // The program has closed its output, so it exits in a moment, and no descriptor reports when.
            if exited == 0 { poll(nil, 0, 1) }
        }
    }

    /// Creates the channel for openssl's output. Its descriptors are closed in all other child processes: the output ends only when no
    /// process has the channel open.
    private static func channel() throws(Failure) -> (output: Int32, input: Int32) {
        var ends: [Int32] = [-1, -1]
        #if canImport(Darwin)
            let status = unsafe socketpair(AF_UNIX, SOCK_STREAM, 0, &ends)
            for end in ends where status == 0 { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        #else
            let type = Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue)
            let status = unsafe socketpair(AF_UNIX, type, 0, &ends)
        #endif
        guard status == 0 else { throw Failure(reason: "no pipe to a program can be created") }
        return (ends[0], ends[1])
    }

    private static func start(_ program: String, _ arguments: [String], output: Int32) throws(Failure) -> pid_t {
        #if canImport(Darwin)
            var actions: posix_spawn_file_actions_t?
        #else
            var actions = unsafe posix_spawn_file_actions_t()
        #endif
        unsafe posix_spawn_file_actions_init(&actions)
        defer { unsafe posix_spawn_file_actions_destroy(&actions) }
        unsafe posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0)
        unsafe posix_spawn_file_actions_adddup2(&actions, output, 1)
        unsafe posix_spawn_file_actions_adddup2(&actions, output, 2)
        let words = unsafe ([program] + arguments).map { unsafe strdup($0) } + [nil]
        let variables = unsafe [strdup("LC_ALL=C"), nil]
        defer { unsafe (words + variables).forEach { unsafe free($0) } }
        var process: pid_t = 0
        let status = unsafe posix_spawn(&process, program, &actions, nil, words, variables)
        guard status == 0 else { throw Failure(reason: "\(program) cannot be run: \(unsafe String(cString: strerror(status)))") }
        return process
    }

    /// Reads until the end of the output; nil if the deadline passes first.
    private static func read(_ descriptor: Int32, until end: ContinuousClock.Instant) -> String? {
        var text: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 4096)
        while true {
            let left = end - .now
            guard left > .zero else { return nil }
            var request = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
            let ready = unsafe poll(&request, 1, Int32(left / .milliseconds(1)) + 1)
            guard ready != 0, ready > 0 || errno == EINTR else { return nil }
            guard ready > 0 else { continue }
            let count = unsafe buffer.withUnsafeMutableBytes { unsafe Foundation.read(descriptor, $0.baseAddress, $0.count) }
            if count == 0 { return String(decoding: text, as: UTF8.self) }
            guard count > 0 || errno == EINTR else { return nil }
            // Output beyond the limit is read and discarded, because the process must be able to finish.
            if count > 0, text.count < outputLimit { text += buffer[..<count] }
        }
    }
}
