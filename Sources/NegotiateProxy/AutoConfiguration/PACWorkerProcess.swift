internal import Foundation
internal import SystemSupport

#if canImport(Glibc)
    internal import Glibc
#elseif canImport(Musl)
    internal import Musl
#else
    internal import Darwin
#endif

/// The program that runs ``PACWorker``, which is this program itself outside of tests.
package struct PACWorkerProgram: Sendable {
    fileprivate let path: String
    fileprivate let arguments: [String]

    /// Names a program by its path, with the arguments that make it a worker.
    package init(path: String, arguments: [String] = PACWorker.arguments) { (self.path, self.arguments) = (path, arguments) }
}

/// One process that evaluates a PAC file, with a socket as its standard input and output. It is killed with this object.
///
/// ``exchange(_:within:)`` blocks, and one caller at a time may use it.
final class PACWorkerProcess: Sendable {
    /// How an exchange with the process ended. After another end than a reply, the process cannot be used again.
    enum Outcome {
        case reply(PACReply)
        case timeout
        /// The process exited, or wrote no valid reply.
        case failure
    }

    /// The process's whole environment: the C library's resolver waits at most two seconds for each server, because a name that no
    /// server resolves must not use up the time of an evaluation.
    private static let environment = ["LC_ALL": "C", "RES_OPTIONS": "timeout:2 attempts:1"]

    private let process: pid_t
    private let connection: Int32

    /// Starts the program.
    init(_ program: PACWorkerProgram) throws(RoutingError) {
        var ends: [Int32] = [-1, -1]
        #if canImport(Darwin)
            let type = SOCK_STREAM
        #else
            let type = Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue)
        #endif
        guard unsafe socketpair(AF_UNIX, type, 0, &ends) == 0 else {
            let reason = unsafe String(cString: strerror(errno))
            throw RoutingError("The PAC file cannot be evaluated, because no socket can be created: \(reason).")
        }
        defer { close(ends[1]) }
        do throws(ChildProcess.Failure) {
            process = try ChildProcess.start(
                program.path,
                [program.path] + program.arguments,
                environment: Self.environment,
                input: .descriptor(ends[1]),
                output: .descriptor(ends[1]),
                errors: .null,
                asSessionLeader: true
            )
        } catch {
            close(ends[0])
            throw RoutingError("The PAC file cannot be evaluated, because \(program.path) cannot be run: \(error.reason).")
        }
        connection = ends[0]
    }

    deinit {
        close(connection)
        kill(process, SIGKILL)
        var status: Int32 = 0
        while unsafe waitpid(process, &status, 0) < 0, errno == EINTR {}
    }

    /// Sends a request and waits for the reply.
    func exchange(_ request: PACRequest, within limit: Duration) -> Outcome {
        let end = ContinuousClock.now + limit
        var rest = PACLine.encode(request)[...]
        while !rest.isEmpty {
            guard isReady(POLLOUT, until: end) else { return .timeout }
            let count = unsafe rest.withUnsafeBytes { bytes in
                unsafe send(connection, bytes.baseAddress, bytes.count, Int32(MSG_NOSIGNAL) | Int32(MSG_DONTWAIT))
            }
            if count < 0, errno == EINTR || errno == EAGAIN { continue }
            guard count > 0 else { return .failure }
            rest = rest.dropFirst(count)
        }
        return receive(until: end)
    }

    private func receive(until end: ContinuousClock.Instant) -> Outcome {
        var line: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 4096)
        while true {
            guard isReady(POLLIN, until: end) else { return .timeout }
            let count = unsafe buffer.withUnsafeMutableBytes { bytes in
                unsafe recv(connection, bytes.baseAddress, bytes.count, Int32(MSG_DONTWAIT))
            }
            if count < 0, errno == EINTR || errno == EAGAIN { continue }
            guard count > 0, line.count + count <= PACReply.limit else { return .failure }
            line += buffer[..<count]
            guard line.last == UInt8(ascii: "\n") else { continue }
            guard let reply = PACLine.decode(line, as: PACReply.self) else { return .failure }
            return .reply(reply)
        }
    }

    /// Waits until the socket is readable or writable; false if the time is over first.
    private func isReady(_ events: Int32, until end: ContinuousClock.Instant) -> Bool {
        while true {
            let left = max(.zero, end - .now)
            var request = pollfd(fd: connection, events: Int16(events), revents: 0)
            let count = unsafe poll(&request, 1, Int32(clamping: Int((left / .milliseconds(1)).rounded(.up))))
            if count < 0, errno == EINTR { continue }
            return count > 0
        }
    }
}
