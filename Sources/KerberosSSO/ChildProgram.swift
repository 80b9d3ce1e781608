internal import Foundation
internal import Kerberos
internal import SystemSupport

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
        let process = try? ChildProcess.start(
            program,
            [program] + arguments,
            environment: environment,
            input: .descriptor(ends[1]),
            output: .descriptor(ends[1]),
            errors: showsErrors ? .inherited : .null
        )
        guard let process else {
            close(ends[0])
            return nil
        }
        (self.process, connection) = (process, ends[0])
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
