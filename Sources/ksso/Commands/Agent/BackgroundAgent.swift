internal import CommandSupport
internal import Foundation
internal import SSOAgent
internal import SSOAgentClient
internal import SystemSupport

/// Starts an agent as a background process in its own session, and waits until it serves.
struct BackgroundAgent {
    let runtime: RuntimeDirectory

    private var log: String { runtime.path + "/agent.log" }
    private var notifications: String { runtime.path + "/n.\(getpid())" }

    /// What an agent has done at its start.
    struct Start {
        /// The principals whose tickets it has moved from the system's default cache.
        var moved: [String]
        var signIn = SignIn.unknown
    }

    /// The result of the agent's first keytab sign-in, with its sentence.
    enum SignIn {
        case done(String)
        case failed(String)
        /// There was no sign-in, or it is still in progress.
        case unknown
    }

    /// How long to wait for the first sign-in after the agent serves, in seconds: as long as for a KDC that does not answer.
    private static let signInTime = 10.0

    /// - Parameter waitsForSignIn: Whether to wait for the result of the agent's keytab sign-in.
    /// - Throws: ``CommandFailure`` with the agent's own message if it exits instead.
    func start(waitingForSignIn waitsForSignIn: Bool) throws(CommandFailure) -> Start {
        let socket = try notificationSocket()
        defer {
            close(socket)
            unlink(notifications)
        }
        // The agent keeps the write end open while it runs, so that its exit is detected at once.
        var life: [Int32] = [0, 0]
        guard pipe(&life) == 0 else { throw failure("a pipe cannot be created") }
        defer { close(life[0]) }
        emptyLog()
        let start = logSize
        let spawned = Result { () throws(CommandFailure) in try self.start(life: life[1]) }
        close(life[1])
        try spawned.get()
        if let ready = message(from: socket, life: life[0]), ready.hasPrefix("READY=1") {
            let prefix = ServiceNotification.moved
            let moved = ready.split(separator: "\n").filter { $0.hasPrefix(prefix) }.map { String($0.dropFirst(prefix.count)) }
            return Start(moved: moved, signIn: waitsForSignIn ? signIn(from: socket, life: life[0]) : .unknown)
        }
        let text = lastLine(after: start).map { $0.hasPrefix("ksso: ") ? String($0.dropFirst(6)) : $0 }
        throw CommandFailure(.failed, text ?? "the agent exited before it was ready. See \(log)")
    }

    /// Returns the next message of the agent; nil when the time is up or the agent has exited.
    private func message(from socket: Int32, life: Int32, seconds: Double? = nil) -> String? {
        let clock = ContinuousClock()
        let end = seconds.map { clock.now + .seconds($0) }
        var events = [pollfd(fd: socket, events: Int16(POLLIN), revents: 0), pollfd(fd: life, events: Int16(POLLIN), revents: 0)]
        while true {
            let wait = end.map { max(0, ($0 - clock.now) / .milliseconds(1)) } ?? -1
            let status = poll(&events, nfds_t(events.count), Int32(wait.rounded(.up)))
            guard status < 0, errno == EINTR else { break }
        }
        var buffer = [UInt8](repeating: 0, count: 4096)
        let count = recv(socket, &buffer, buffer.count, Int32(MSG_DONTWAIT))
        return count > 0 ? String(decoding: buffer[..<count], as: UTF8.self) : nil
    }

    /// Empties the log after an agent has exited, so that it does not grow with each start. A running agent continues to write to it.
    private func emptyLog() {
        guard let lock = try? AgentLock(runtime) else { return }
        truncate(log, 0)
        withExtendedLifetime(lock) {}
    }

    private var logSize: UInt64 {
        (try? FileManager.default.attributesOfItem(atPath: log)[.size] as? NSNumber)?.uint64Value ?? 0
    }

    /// The last line that was written to the log behind a place in it.
    private func lastLine(after start: UInt64) -> String? {
        guard let file = FileHandle(forReadingAtPath: log), (try? file.seek(toOffset: start)) != nil, let data = try? file.readToEnd()
        else {
            return nil
        }
        return String(decoding: data, as: UTF8.self).split(separator: "\n").last.map(String.init)
    }

    private func signIn(from socket: Int32, life: Int32) -> SignIn {
        guard let message = message(from: socket, life: life, seconds: Self.signInTime) else { return .unknown }
        let lines = message.split(separator: "\n")
        let status = lines.first { $0.hasPrefix("STATUS=") }?.dropFirst("STATUS=".count) ?? ""
        if lines.contains(where: { $0 == ServiceNotification.done }) { return .done(String(status)) }
        return lines.contains { $0 == ServiceNotification.failed } ? .failed(String(status)) : .unknown
    }

    private func notificationSocket() throws(CommandFailure) -> Int32 {
        guard let address = UnixSocketAddress(path: notifications) else {
            throw CommandFailure(.failed, "\(notifications): the path is too long for a socket. Set KSSO_RUNTIME_DIR to a shorter path.")
        }
        let descriptor = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue) | O_CLOEXEC, 0)
        unlink(notifications)
        guard descriptor >= 0, address.lent(to: { bind(descriptor, $0, $1) }) == 0 else {
            close(descriptor)
            throw failure("\(notifications): the socket cannot be created")
        }
        return descriptor
    }

    /// Starts the same command without --background.
    private func start(life: Int32) throws(CommandFailure) {
        var environment = ProcessInfo.processInfo.environment
        environment["NOTIFY_SOCKET"] = notifications
        do {
            _ = try ChildProcess.start(
                OwnProgram.executable,
                CommandLine.arguments.filter { $0 != "--background" },
                environment: environment,
                output: .log(log),
                errors: .log(log),
                keeping: life,
                asSessionLeader: true
            )
        } catch {
            throw CommandFailure(.failed, "the agent cannot be started: \(error.reason).")
        }
    }

    private func failure(_ what: String) -> CommandFailure {
        CommandFailure(.failed, "\(what): \(String(cString: strerror(errno))).")
    }
}
