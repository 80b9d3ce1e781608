internal import Foundation
internal import Kerberos

/// A conversation with a program by the Assuan protocol: a line asks, `OK` or `ERR` answers, `D` lines bring data.
///
/// It blocks: it belongs to a thread that may wait. What is sent is no secret; what comes is wiped.
struct AssuanDialogue: ~Copyable {
    let process: pid_t
    let connection: Int32
    private var deadline = ContinuousClock.now + AssuanDialogue.patience
    private var buffer: [UInt8] = []

    /// The longest line of the protocol, and the longest answer that is taken.
    private static let lineLimit = 1000
    private static let answerLimit = 4096
    /// How long the program may take over what no person has to answer.
    private static let patience = Duration.seconds(60)
    /// How long it may take to end by itself, and then by a signal.
    private static let grace = Duration.seconds(1)

    /// How a request ended.
    enum Reply: Equatable {
        case done
        /// The number without the part that names the program that gave it (libgpg-error).
        case failed(code: UInt32)
    }

    /// - Parameters:
    ///   - program: its path.
    ///   - environment: its variables, all of them.
    init(_ program: String, environment: [String: String]) throws(PromptRefusal) {
        var ends: [Int32] = [-1, -1]
        let type = Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue)
        guard unsafe socketpair(AF_UNIX, type, 0, &ends) == 0 else { throw .notInteractive }
        defer { close(ends[1]) }
        guard let process = Self.start(program, environment, connection: ends[1]) else {
            close(ends[0])
            throw .notInteractive
        }
        (self.process, connection) = (process, ends[0])
        buffer.reserveCapacity(Self.answerLimit)
    }

    private static func start(_ program: String, _ environment: [String: String], connection: Int32) -> pid_t? {
        var actions = unsafe posix_spawn_file_actions_t()
        var attributes = posix_spawnattr_t()
        unsafe posix_spawn_file_actions_init(&actions)
        unsafe posix_spawnattr_init(&attributes)
        defer {
            unsafe posix_spawn_file_actions_destroy(&actions)
            unsafe posix_spawnattr_destroy(&attributes)
        }
        for end in [STDIN_FILENO, STDOUT_FILENO] { unsafe posix_spawn_file_actions_adddup2(&actions, connection, end) }
        // What this process ignores or blocks, the program need not.
        var (none, all) = (sigset_t(), sigset_t())
        unsafe sigemptyset(&none)
        unsafe sigfillset(&all)
        unsafe posix_spawnattr_setsigmask(&attributes, &none)
        unsafe posix_spawnattr_setsigdefault(&attributes, &all)
        unsafe posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF))
        var arguments = unsafe [strdup(program), nil]
        var variables = unsafe environment.map { unsafe strdup("\($0.key)=\($0.value)") } + [nil]
        defer { unsafe (arguments + variables).forEach { unsafe free($0) } }
        var process: pid_t = 0
        return unsafe posix_spawn(&process, program, &actions, &attributes, &arguments, &variables) == 0 ? process : nil
    }

    /// Waits until the program is ready.
    mutating func begin() throws(PromptRefusal) {
        guard let reply = try? reply(), reply == .done else { throw .notInteractive }
    }

    /// Sends a request; the text is escaped.
    mutating func request(_ command: String, _ text: String = "") throws(PromptRefusal) -> Reply {
        deadline = .now + Self.patience
        try send(command, text)
        return try reply()
    }

    /// Asks the person, for so long at most.
    mutating func secret(within patience: Duration) throws(PromptRefusal) -> Secret {
        deadline = .now + patience
        var answer: [UInt8] = []
        answer.reserveCapacity(Self.answerLimit)
        defer { Self.wipe(&answer) }
        try send("GETPIN", "")
        switch try reply(into: &answer) {
        case .done: return Secret(bytes: answer)
        case .failed(let code): throw AssuanLine.isRefusal(code) ? .canceled : .notInteractive
        }
    }

    /// Takes leave, and waits for the program's end; one that does not end is ended.
    mutating func end() {
        deadline = .now
        try? send("BYE", "")
        close(connection)
        Self.wipe(&buffer)
        if hasEnded() { return }
        kill(process, SIGTERM)
        if hasEnded() { return }
        kill(process, SIGKILL)
        // What the kernel itself holds back is not waited for.
        _ = hasEnded()
    }

    /// Waits a little for the program's end.
    private func hasEnded() -> Bool {
        let limit = ContinuousClock.now + Self.grace
        var status: Int32 = 0
        while true {
            let ended = unsafe waitpid(process, &status, WNOHANG)
            if ended == process || ended < 0 && errno != EINTR { return true }
            guard ContinuousClock.now < limit else { return false }
            usleep(2000)
        }
    }

    /// Waits until the program takes or gives something; false when the time is up.
    private func isReady(_ events: Int32) -> Bool {
        while true {
            let rest = max(.zero, deadline - .now)
            let milliseconds = rest.components.seconds * 1000 + rest.components.attoseconds / 1_000_000_000_000_000
            var descriptor = pollfd(fd: connection, events: Int16(events), revents: 0)
            let count = unsafe poll(&descriptor, 1, Int32(clamping: milliseconds))
            if count < 0, errno == EINTR { continue }
            return count > 0
        }
    }

    private func send(_ command: String, _ text: String) throws(PromptRefusal) {
        let line = AssuanLine.request(command, text, limit: Self.lineLimit)
        var rest = line[...]
        while !rest.isEmpty {
            guard isReady(POLLOUT) else { throw .canceled }
            let flags = Int32(MSG_NOSIGNAL) | Int32(MSG_DONTWAIT)
            let count = unsafe rest.withUnsafeBytes { unsafe Foundation.send(connection, $0.baseAddress, $0.count, flags) }
            if count < 0, errno == EINTR || errno == EAGAIN { continue }
            // It has ended; whoever wanted it to knows why.
            guard count > 0 else { throw .canceled }
            rest = rest.dropFirst(count)
        }
    }

    private mutating func reply() throws(PromptRefusal) -> Reply {
        var nothing: [UInt8] = []
        return try reply(into: &nothing)
    }

    private mutating func reply(into data: inout [UInt8]) throws(PromptRefusal) -> Reply {
        while true {
            switch AssuanLine(try nextLine()) {
            case .done: return .done
            case .failed(let code): return .failed(code: code)
            case .data(var part):
                defer { Self.wipe(&part) }
                guard data.count + part.count <= Self.answerLimit else { throw .canceled }
                data += part
            // It wants to know something, such as how good a password is.
            case .inquiry: try send("END", "")
            case .other: continue
            }
        }
    }

    private mutating func nextLine() throws(PromptRefusal) -> [UInt8] {
        while true {
            if let end = buffer.firstIndex(of: UInt8(ascii: "\n")) {
                let line = Array(buffer[..<end])
                let rest = Array(buffer[(end + 1)...])
                Self.wipe(&buffer)
                buffer += rest
                return line
            }
            var part = [UInt8](repeating: 0, count: 1024)
            defer { Self.wipe(&part) }
            guard isReady(POLLIN) else { throw .canceled }
            let count = unsafe part.withUnsafeMutableBytes { unsafe read(connection, $0.baseAddress, $0.count) }
            if count < 0, errno == EINTR { continue }
            guard count > 0, buffer.count + count <= Self.answerLimit else { throw .canceled }
            buffer += part[..<count]
        }
    }

    /// Overwrites the bytes; the capacity stays.
    private static func wipe(_ bytes: inout [UInt8]) {
        unsafe bytes.withUnsafeMutableBytes { if let start = $0.baseAddress { unsafe explicit_bzero(start, $0.count) } }
        bytes.removeAll(keepingCapacity: true)
    }
}
